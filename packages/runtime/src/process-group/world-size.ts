/** More ranks than any job has. Rank 0 keeps an entry for each rank that is missing, so that a mistyped number would take gigabytes. */
export const highestWorldSize = 2 ** 20;
