#include "api/rest/format.h"

#include <gtest/gtest.h>

namespace rb::rest {
namespace {

TEST(IndentJsonTest, KeepsTheOrder) {
  EXPECT_EQ(*IndentJson(R"({"b":[1,2],"a":{}})"),
            "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": {}\n}\n");
}

TEST(JsonToYamlTest, WritesBlocks) {
  const auto yaml =
      JsonToYaml(R"({"spec":{"tenant":"alice","names":["rxe0"],"empty":[],"none":{}},)"
                 R"("items":[{"a":1,"b":[{"c":true}]},[2,3],null]})");

  ASSERT_TRUE(yaml);
  EXPECT_EQ(*yaml,
            "spec:\n"
            "  tenant: alice\n"
            "  names:\n"
            "    - rxe0\n"
            "  empty: []\n"
            "  none: {}\n"
            "items:\n"
            "  - a: 1\n"
            "    b:\n"
            "      - c: true\n"
            "  - - 2\n"
            "    - 3\n"
            "  - null\n");
}

TEST(JsonToYamlTest, QuotesWhatYamlWouldReadAsSomethingElse) {
  const auto yaml = JsonToYaml(
      R"(["yes","NULL","1.5","2026-12-01","a: b","# c","","~","n","- x","a\nb","0x1f","Zoë"])");

  ASSERT_TRUE(yaml);
  EXPECT_EQ(*yaml,
            "- \"yes\"\n- \"NULL\"\n- \"1.5\"\n- \"2026-12-01\"\n- \"a: b\"\n- \"# c\"\n- \"\"\n"
            "- \"~\"\n- \"n\"\n- \"- x\"\n- \"a\\nb\"\n- \"0x1f\"\n- \"Zoë\"\n");
}

TEST(JsonToYamlTest, ScalarsAndEmptyValuesStandAlone) {
  EXPECT_EQ(*JsonToYaml("7"), "7\n");
  EXPECT_EQ(*JsonToYaml("{}"), "{}\n");
}

TEST(FormatTest, RefusesWhatIsNotJson) {
  EXPECT_EQ(IndentJson("{").error().reason, "malformed");
  EXPECT_EQ(JsonToYaml(R"({"a":1,"a":2})").error().reason, "malformed");
}

}  // namespace
}  // namespace rb::rest
