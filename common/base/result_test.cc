#include "common/base/result.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>

namespace rb {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(ErrorCode::kInvalid, "halve: odd", "odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  RB_TRY(const int half, Half(value));
  RB_TRY(const int quarter, Half(half));
  return quarter;
}

Result<void> CheckEven(int value) {
  RB_TRY_VOID(Half(value));
  return {};
}

Result<std::unique_ptr<int>> Box(int value) { return std::make_unique<int>(value); }

Result<int> Unbox(int value) {
  RB_TRY(const std::unique_ptr<int> box, Box(value));
  return *box;
}

TEST(ResultTest, TryGoesOnWithTheValue) {
  EXPECT_EQ(Quarter(8), 2);
  EXPECT_TRUE(CheckEven(2));
}

TEST(ResultTest, TryReturnsTheErrorUnchanged) {
  const Result<int> quarter = Quarter(6);

  ASSERT_FALSE(quarter);
  EXPECT_EQ(quarter.error(),
            (Error{.code = ErrorCode::kInvalid, .message = "halve: odd", .reason = "odd"}));
  EXPECT_FALSE(CheckEven(1));
}

TEST(ResultTest, TryMovesWhatCannotBeCopied) { EXPECT_EQ(Unbox(7), 7); }

TEST(NameTest, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;

  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(Name(static_cast<ErrorCode>(code)));
  }

  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::kInternal) + 1);
  EXPECT_EQ(Name(ErrorCode::kNotFound), "not_found");
}

TEST(FailErrnoTest, SaysWhatFailedAndWhy) {
  const Result<int> failed = FailErrno("open /x", ENOENT);

  EXPECT_EQ(failed.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(failed.error().message, "open /x: No such file or directory");
}

TEST(FailErrnoTest, FoldsErrnoValuesIntoCodes) {
  struct Row {
    int error;
    ErrorCode code;
  };
  constexpr std::array<Row, 10> kRows{{{ENODEV, ErrorCode::kNotFound},
                                       {EEXIST, ErrorCode::kConflict},
                                       {EPERM, ErrorCode::kDenied},
                                       {EMFILE, ErrorCode::kExhausted},
                                       {ETIMEDOUT, ErrorCode::kTimeout},
                                       {EOPNOTSUPP, ErrorCode::kUnsupported},
                                       {ECONNREFUSED, ErrorCode::kUnavailable},
                                       {EINVAL, ErrorCode::kInvalid},
                                       {EIO, ErrorCode::kInternal},
                                       {99999, ErrorCode::kInternal}}};

  for (const Row& row : kRows) {
    const Result<void> failed = FailErrno("x", row.error);
    EXPECT_EQ(failed.error().code, row.code) << row.error;
  }
}

TEST(CheckDeathTest, ABrokenInvariantAbortsAndNamesIt) {
  EXPECT_DEATH(RB_CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace rb
