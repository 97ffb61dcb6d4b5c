#include "cli/table.h"

#include <gtest/gtest.h>

namespace rb::cli {
namespace {

TEST(TableTest, AlignsColumnsAndLeavesNoSpacesAtLineEnds) {
  Table table({"NAME", "TENANT", "QPS"});
  table.Add({"lease-0", "a", "2/64"});
  table.Add({"l", "", "1"});

  EXPECT_EQ(table.Render(),
            "NAME     TENANT  QPS\n"
            "lease-0  a       2/64\n"
            "l        -       1\n");
}

TEST(TableTest, AnEmptyTableIsItsTitles) { EXPECT_EQ(Table({"A", "B"}).Render(), "A  B\n"); }

TEST(TableTest, CountsCodePointsNotBytes) {
  Table table({"A", "B"});
  table.Add({"Zoë", "x"});
  table.Add({"abc", "y"});

  EXPECT_EQ(table.Render(), "A    B\nZoë  x\nabc  y\n");
}

TEST(TableTest, ATenantsNameCannotMoveTheCursor) {
  Table table({"COMMAND"});
  table.Add({"evil\x1b[2J\nname"});

  EXPECT_EQ(table.Render().find('\x1b'), std::string::npos);
  EXPECT_EQ(table.Render(), "COMMAND\nevil\\x1b[2J\\nname\n");
}

TEST(RenderPairsTest, AlignsValues) {
  EXPECT_EQ(RenderPairs({{"Name", "n1"}, {"Boot id", ""}}), "Name:     n1\nBoot id:  -\n");
}

TEST(JoinTest, PutsCommasBetween) {
  EXPECT_EQ(Join({}), "");
  EXPECT_EQ(Join({"a", "b"}), "a,b");
}

}  // namespace
}  // namespace rb::cli
