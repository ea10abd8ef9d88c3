/** More than any job has. Rank 0 keeps an entry for each missing rank, so a mistyped number would use gigabytes. */
export const highestWorldSize = 2 ** 20;
