#include "common/runtime/digest.h"

#include <gtest/gtest.h>

namespace rb {
namespace {

// The vectors of FIPS 180-4.
TEST(Sha256HexTest, MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256HexTest, TakesBytesThatAreNoText) {
  EXPECT_EQ(Sha256Hex(std::string_view("\0", 1)),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

TEST(EqualDigestTest, ComparesTheWholeText) {
  EXPECT_TRUE(EqualDigest("", ""));
  EXPECT_TRUE(EqualDigest("abc", "abc"));
  EXPECT_FALSE(EqualDigest("abc", "abd"));
  EXPECT_FALSE(EqualDigest("xbc", "abc"));
  EXPECT_FALSE(EqualDigest("abc", "ab"));
}

}  // namespace
}  // namespace rb
