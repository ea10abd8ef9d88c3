// Tables of the benchmarks, in Markdown, so that they can be pasted into docs/performance.md. Pure.

/** Lines of a table. `columns`: [head, function from a row to its cell]. */
export function tableOf(rows, columns) {
  const cells = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  const widths = columns.map((_, i) => Math.max(3, ...cells.map((line) => line[i].length)));
  const lineOf = (line) => `| ${line.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  const [head, ...body] = cells.map(lineOf);
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body];
}

/** A number of `digits` digits, with commas from 1,000, or `-`. */
export function shown(number, digits = 3) {
  if (number === undefined) return '-';
  if (number >= 10 ** (digits - 1)) return Math.round(number).toLocaleString('en-US');
  return Number(number.toPrecision(digits)).toString();
}
