/** Sizes of one all-reduce in bytes, and how often each is repeated: about the same time for each, and enough for a median. */
export const sizes = [
  4, 64, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456,
];

export function repetitions(bytes, ranks) {
  return Math.min(2000, Math.max(5, Math.floor(4e8 / ranks / (bytes + 50_000))));
}

/**
 * The plan as the contenders take it on their command lines: `bytes:repetitions` for each size. Each repeats a size as often once more before
 * it measures: caches, connections and compiled code are then those of a job that runs. (PyTorch 20 times: it compiles nothing, and takes milliseconds where ranks share processors.)
 */
export function planOf(most, ranks) {
  return sizes.filter((bytes) => bytes <= most).map((bytes) => `${bytes}:${repetitions(bytes, ranks)}`);
}
