/** Lines of the longest file by ending. */
export const longest: Readonly<Partial<Record<string, number>>> = { ts: 400, js: 400, cc: 500, h: 500 };

/** Files that are longer than their kind may be. */
export function tooLong(files: readonly { readonly path: string; readonly lines: number }[]): string[] {
  return files.flatMap(({ path, lines }) => {
    const limit = longest[path.slice(path.lastIndexOf('.') + 1)];
    return limit === undefined || lines <= limit
      ? []
      : [`${path}: ${lines} lines, expected at most ${limit}`];
  });
}
