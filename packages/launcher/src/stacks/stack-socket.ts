/** Name of a rank's socket in the launcher's folder. */
export function stackSocketName(rank: string | number, pid: number): string {
  return `stack-${rank}-${pid}.sock`;
}

/** Rank and process of a socket's name; undefined for other files. */
export function rankOfSocket(name: string): { rank: number; pid: number } | undefined {
  const found = /^stack-(\d+)-(\d+)\.sock$/.exec(name);
  return found ? { rank: Number(found[1]), pid: Number(found[2]) } : undefined;
}
