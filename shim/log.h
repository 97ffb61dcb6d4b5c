// One line a message to standard error or a file, only when RDMA_SHIM_LOG asks for it.
//
// Never to standard output, never more than kLineBytes, never buffered, errno kept. Lines go out by
// one write(), so those of several threads do not mix.
//
// Threading: safe after SetLog.
#pragma once

#include "shim/config.h"

namespace rb::shim {

inline constexpr std::size_t kLineBytes = 512;

// REQUIRES: `config` outlives the process's use of the log.
void SetLog(const Config* config);

bool LogEnabled(LogLevel level);

// printf-style; "rdma-shim[pid]: " in front and a newline behind are added.
__attribute__((format(printf, 2, 3))) void Log(LogLevel level, const char* format, ...);

}  // namespace rb::shim
