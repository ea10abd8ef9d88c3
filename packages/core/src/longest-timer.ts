/** Milliseconds. Longer delays of `setTimeout` overflow, and end at once. */
export const longestTimerMs = 2 ** 31 - 1;
