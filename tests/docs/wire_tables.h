// Layouts of frames and pages for docs/wire.md, taken from the structs themselves. Pure.
#pragma once

#include <string>

namespace rb {

// Every frame: its type, size and fields with their offsets.
std::string WireFrames();

// The two shared pages in the same form.
std::string WirePages();

// What the numbers in frames and pages mean.
std::string WireValues();

// A process's first calls and their answers, byte by byte.
std::string WireExample();

// A policy page, byte by byte.
std::string PolicyExample();

}  // namespace rb
