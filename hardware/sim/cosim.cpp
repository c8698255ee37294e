// The RTL beside crates/ecc: words from `codewords` (standard input) are put into a page register, and weight and prediction must
// be what the library says of them. With a number as argument so many random words, whose weights are counted here.
//
// Before some words a prediction is begun and given up; what is on the bus while nothing is fetched is noise.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "Vrp.h"
#include "verilated.h"

namespace {

constexpr unsigned LIMBS = SEGMENTS * SIZE / 32, WORD = WIDTH / 32, GROUPS = SIZE / WIDTH;
constexpr unsigned LATE = 4 * SEGMENTS * GROUPS;
// Between the thresholds of one that has several.
constexpr uint32_t APART = SIZE / 32;

constexpr unsigned bits(unsigned most) { return most ? 1 + bits(most / 2) : 0; }
static_assert(THRESHOLDS * bits(SIZE) <= 64, "thresholds are a number of 64 bits");

struct Codeword {
  std::vector<uint32_t> limbs = std::vector<uint32_t>(LIMBS);
  uint32_t weight = 0, fails = 0;
};

bool read(uint32_t *into, size_t count) { return std::fread(into, sizeof *into, count, stdin) == count; }

bool read(Codeword &word) {
  return read(word.limbs.data(), LIMBS) && read(&word.weight, 1) && read(&word.fails, 1);
}

void draw(Codeword &word, uint32_t threshold, std::mt19937 &draws) {
  for (uint32_t &limb : word.limbs) limb = draws();
  // Few errors, too: all but the last segment of some words decide nothing.
  word.weight = 0;
  const uint32_t kept = draws() % 2 ? ~0u : draws() & draws() & draws();
  for (unsigned at = 0; at < SIZE / 32; at++) {
    uint32_t syndromes = 0;
    for (unsigned segment = 0; segment + 1 < SEGMENTS; segment++) syndromes ^= word.limbs[segment * SIZE / 32 + at];
    uint32_t &last = word.limbs[(SEGMENTS - 1) * SIZE / 32 + at];
    last = kept == ~0u ? last : syndromes ^ (last & kept);
    word.weight += __builtin_popcount(syndromes ^ last);
  }
  word.fails = word.weight > threshold;
}

class Bench {
 public:
  Bench() {
    top.reset = 1;
    top.start = top.clock = 0;
    for (int edge = 0; edge < 8; edge++) cycle(nullptr);
    top.reset = 0;
  }

  // Cycles from the start to `done`, or so many of them.
  unsigned predict(const Codeword &word, uint32_t threshold, unsigned most = LATE) {
    top.start = 1;
    uint64_t thresholds = 0;
    for (unsigned at = 0; at < THRESHOLDS; at++) thresholds |= uint64_t{threshold + at * APART} << at * bits(SIZE);
    top.threshold = thresholds;
    cycle(&word);
    top.start = 0;
    fetched = 0;
    unsigned cycles = 1;
    for (; !top.done && cycles < most; cycles++) cycle(&word);
    return cycles;
  }

  Vrp top;
  uint64_t fetched = 0;
  std::mt19937 noise{1};

 private:
  // The page register's word comes in the cycle after its address.
  void cycle(const Codeword *word) {
    const bool fetch = word && top.fetch;
    const unsigned address = top.address;
    fetched += fetch;
    top.clock = 1;
    top.eval();
    uint32_t data[WORD];
    for (unsigned at = 0; at < WORD; at++) data[at] = fetch ? word->limbs.at(address * WORD + at) : noise();
    std::memcpy(&top.data, data, sizeof data);
    top.clock = 0;
    top.eval();
  }

  VerilatedContext context;
};

}  // namespace

int main(int argc, char **argv) {
  const uint64_t random = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Bench bench;
  Codeword word;
  uint32_t threshold = SIZE / 4;
  if (!random && !read(&threshold, 1)) return std::fputs("error: no threshold on the standard input\n", stderr), 1;
  uint64_t words = 0, differ = 0, failing = 0;
  std::set<unsigned> cycles;
  for (std::mt19937 draws{2}; random ? words < random : read(word); words++) {
    if (random) draw(word, threshold, draws);
    if (words % 7 == 3) bench.predict(word, threshold, 1 + bench.noise() % (SEGMENTS * GROUPS + 4));
    cycles.insert(bench.predict(word, threshold));
    unsigned above = word.fails;
    for (unsigned at = 1; at < THRESHOLDS; at++) above |= unsigned{word.weight > threshold + at * APART} << at;
    const bool same = bench.top.done && bench.top.weight == word.weight && bench.top.above == above;
    differ += !same || bench.fetched != SEGMENTS * GROUPS;
    failing += word.fails;
  }
  std::printf("%u,%u,%u,%llu,%llu,%llu,%u\n", WIDTH, SEGMENTS, SIZE, (unsigned long long)words,
              (unsigned long long)failing, (unsigned long long)differ, *cycles.begin());
  return words && !differ && cycles.size() == 1 ? 0 : 1;
}
