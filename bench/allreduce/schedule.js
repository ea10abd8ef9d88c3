/** Sizes of one all-reduce in bytes. */
export const sizes = [
  4, 64, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
];

/** Repetitions of one size: enough for a median, and about the same total time for each size. */
export function repetitions(bytes, ranks) {
  return Math.min(2000, Math.max(5, Math.floor(4e8 / ranks / (bytes + 50_000))));
}

/**
 * The plan on the contenders' command lines: `bytes:repetitions` for each size. Before measuring, a contender repeats
 * each size as often once more, so that caches, connections and compiled code are warm. PyTorch repeats 20 times: it
 * compiles nothing, and needs milliseconds if ranks share processors.
 */
export function planOf(most, ranks) {
  return sizes.filter((bytes) => bytes <= most).map((bytes) => `${bytes}:${repetitions(bytes, ranks)}`);
}
