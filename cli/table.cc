#include "cli/table.h"

#include <algorithm>

#include "common/base/result.h"
#include "common/runtime/log.h"

namespace rb::cli {
namespace {

std::string Cell(const std::string& text) { return text.empty() ? "-" : EscapeLogText(text); }

// Columns on a terminal, near enough: one for each code point.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void AppendRow(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
               std::string* out) {
  std::size_t owed = 0;  // spaces before the next cell
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out->append(owed, ' ');
    *out += cells[i];
    owed = widths[i] - Width(cells[i]) + 2;
  }
  *out += '\n';
}

}  // namespace

void Table::Add(std::vector<std::string> cells) {
  RB_CHECK(cells.size() == titles_.size());
  for (std::string& cell : cells) cell = Cell(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::Render() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < titles_.size(); ++i) {
    std::size_t width = Width(titles_[i]);
    for (const auto& row : rows_) width = std::max(width, Width(row[i]));
    widths.push_back(width);
  }
  std::string out;
  AppendRow(titles_, widths, &out);
  for (const auto& row : rows_) AppendRow(row, widths, &out);
  return out;
}

std::string RenderPairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) width = std::max(width, Width(name));
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += name + ':' + std::string(width - Width(name) + 2, ' ') + Cell(value) + '\n';
  }
  return out;
}

std::string Join(const std::vector<std::string>& items) {
  std::string joined;
  for (const std::string& item : items) joined += (joined.empty() ? "" : ",") + item;
  return joined;
}

}  // namespace rb::cli
