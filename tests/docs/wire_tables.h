// Layouts of frames and pages for docs/wire.md, taken from the structs themselves. Pure.
#pragma once

#include <string>

namespace rb {

// Every frame: its type, size and fields with their offsets.
std::string WireFrames();

// The two shared pages in the same form.
std::string WirePages();

// One OPEN request and its answer, byte by byte.
std::string WireExample();

}  // namespace rb
