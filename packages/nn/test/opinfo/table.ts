/** The outcomes of an operation's samples. */
export interface Row {
  readonly name: string;
  samples: number;
  equal: number;
  refused: number;
  excused: number;
  different: number;
  /** Reasons for which samples were rejected or excused. */
  readonly reasons: Map<string, { readonly kind: 'refused' | 'excused'; readonly count: number }>;
}

const kinds = [
  ['op', 'Operations', 'torch.testing’s `op_db`'],
  ['module', 'Modules', '`module_db`'],
  ['optimizer', 'Optimizers', '`optim_db`'],
] as const;

/** docs/torch-coverage.md */
export function coveragePage(rows: readonly Row[], torch: string): string {
  return [
    '# Coverage of torch',
    '',
    'PyTorch has sample inputs for each of its operations, modules and optimizers, with which it tests itself.',
    `\`npm run test:opinfo\` runs them with ringrun and compares results and gradients with those of PyTorch ${torch}.`,
    'It writes this page. [From PyTorch](from-pytorch.md) lists the names.',
    '',
    'Samples are float32, int64 and bool tensors. Further samples have NaN, infinities, zeros of both signs,',
    'denormal numbers, equal elements and the kinks of functions. Samples that PyTorch rejects must be rejected.',
    'A refused sample is one that ringrun rejects or has no way to write. An excused sample is one whose number',
    'differs on purpose: PyTorch contradicts itself there, or the same number would slow training down.',
    'The reasons are below.',
    '',
    summary(rows),
    ...kinds.flatMap(([kind, title]) => [
      '',
      `## ${title}`,
      '',
      table(rows.filter(({ name }) => name.startsWith(`${kind} `))),
    ]),
    '',
    '## Reasons of refusals',
    '',
    reasons(rows, 'refused'),
    '',
    '## Reasons of excuses',
    '',
    reasons(rows, 'excused'),
    '',
  ].join('\n');
}

const columns = ['equal', 'refused', 'excused', 'different'] as const;

const plural = (count: number, what: string) => `${count.toLocaleString('en-US')} ${what}`;

function total(rows: readonly Row[], column: 'samples' | (typeof columns)[number]): number {
  return rows.reduce((sum, row) => sum + row[column], 0);
}

function summary(rows: readonly Row[]): string {
  const counts = columns.map((column) => plural(total(rows, column), column));
  return `${plural(total(rows, 'samples'), 'samples')} of ${rows.length} names: ${counts.join(', ')}.`;
}

function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    `\`${row.name.slice(row.name.indexOf(' ') + 1)}\``,
    String(row.samples),
    ...columns.map((column) => String(row[column])),
  ]);
  return markdown([['PyTorch', 'samples', ...columns], ...cells]);
}

function reasons(rows: readonly Row[], of: 'refused' | 'excused'): string {
  const all = new Map<string, { count: number; names: Set<string> }>();
  for (const { name, reasons } of rows) {
    for (const [reason, { kind, count }] of reasons) {
      if (kind !== of) continue;
      const one = all.get(reason) ?? { count: 0, names: new Set() };
      one.count += count;
      one.names.add(name.slice(name.indexOf(' ') + 1));
      all.set(reason, one);
    }
  }
  const cells = [...all]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, { count, names }]) => [reason, String(count), exampleOf([...names])]);
  return markdown([['Reason', 'samples', 'of'], ...cells]);
}

function exampleOf(names: readonly string[]): string {
  const first = names
    .slice(0, 3)
    .map((name) => `\`${name}\``)
    .join(', ');
  return names.length > 3 ? `${first} and ${names.length - 3} more` : first;
}

/** Cells padded to the width of their columns, as Prettier writes them. */
function markdown(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) => Math.max(3, ...rows.map((row) => row[column].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const [head, ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}
