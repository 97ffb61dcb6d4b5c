// Answers a destroy call for an object that the agent destroyed before the application did.
//
// libibverbs waits in ibv_destroy_* until it has acknowledged as many events as the kernel reported
// for the object. The kernel told that number to the agent, not to us, so the application's own
// count is the answer that lets it go on.
//
// Threading: stateless.
#pragma once

#include <cstdint>

#include "shim/uverbs/decode.h"

namespace rb::shim {

// Fills the response of `call`, a destroy. `user_handle` is the library's address of the object as
// given at its creation, or 0. The address is read through the kernel, so that one that has gone
// bad reads as "no events".
void AnswerDestroyed(const Call& call, std::uint64_t user_handle);

}  // namespace rb::shim
