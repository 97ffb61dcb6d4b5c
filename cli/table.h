// Text in columns for a terminal. Threading: thread-compatible. Ownership: values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rb::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}

  // REQUIRES: as many cells as titles. An empty cell shows as "-". Control characters are escaped:
  // a tenant chooses its processes' names, and the terminal is the operator's.
  void Add(std::vector<std::string> cells);

  // Left-aligned columns two spaces apart, one line a row, no spaces at line ends.
  std::string Render() const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

// "name:   value" lines with aligned values.
std::string RenderPairs(const std::vector<std::pair<std::string, std::string>>& pairs);

// Items with commas between; "" for none.
std::string Join(const std::vector<std::string>& items);

}  // namespace rb::cli
