// `torch-names.js [--check]`: writes the tables of PyTorch's names in docs/from-pytorch.md; --check writes nothing and exits
// with 1 if the page differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { distributedNames } from './torch-names/distributed.js';
import { publicNames } from './torch-names/public-names.js';
import {
  dataNames,
  functionNames,
  initNames,
  parametrizationNames,
  rnnNames,
  schedulerNames,
  swaNames,
  utilsNames,
} from './torch-names/others.js';
import {
  advice,
  camelCase,
  distributionNames,
  distributionsNames,
  functionalNames,
  moduleNames,
  nnNames,
  optimizerNames,
  optimNames,
  tensorNames,
} from '../packages/nn/dist/torch-names/index.js';

const page = new URL('../docs/from-pytorch.md', import.meta.url);
const torch = JSON.parse(readFileSync(new URL('../test/golden/torch_names.json', import.meta.url), 'utf8'));
const ours = publicNames();

/** The parts of the table: torch's name, how ringrun's names are written, and replacements for missing names. */
const families = [
  ['torch', '', functionNames],
  ['torch.Tensor', 'x.', tensorNames],
  ['torch.nn', 'nn.', nnNames],
  ['torch.nn.Module', 'module.', moduleNames],
  ['torch.nn.functional', 'F.', functionalNames],
  ['torch.nn.init', 'nn.init.', initNames],
  ['torch.nn.utils', 'nn.utils.', utilsNames],
  ['torch.nn.utils.rnn', 'nn.utils.rnn.', rnnNames],
  ['torch.nn.utils.parametrizations', 'nn.utils.parametrizations.', parametrizationNames],
  ['torch.distributions', 'distributions.', distributionsNames],
  ['torch.distributions.Distribution', 'distribution.', distributionNames],
  ['torch.optim', 'optim.', optimNames],
  ['torch.optim.Optimizer', 'optimizer.', optimizerNames],
  ['torch.optim.lr_scheduler', 'optim.lrScheduler.', schedulerNames],
  ['torch.optim.swa_utils', 'optim.swaUtils.', swaNames],
  ['torch.distributed', 'dist.', distributedNames],
  ['torch.utils.data', 'dist.', dataNames],
];

/** A function of torch that changes its argument, such as uniform_, has no underscore here. */
const spelling = (name) => camelCase(name.replace(/_$/, ''));

function section([family, owner, table]) {
  const has = ours[family];
  const same = torch[family].filter((name) => has.has(spelling(name)));
  const others = Object.entries(table).filter(([name]) => !has.has(spelling(name)));
  const missing = torch[family].filter((name) => !has.has(spelling(name)) && !(name in table));
  const lines = [`### ${family}`, '', names(same.map((name) => `${owner}${spelling(name)}`)), ''];
  if (others.length > 0) lines.push('| PyTorch | ringrun |', '| --- | --- |');
  for (const [name, replacement] of others) lines.push(`| \`${name}\` | ${cell(replacement)} |`);
  if (missing.length > 0) lines.push('', `Without a counterpart: ${names(missing)}`);
  return lines.join('\n');
}

const names = (list) => (list.length === 0 ? 'None.' : `${list.map((name) => `\`${name}\``).join(', ')}.`);

function cell(replacement) {
  const text = advice(replacement) === replacement ? replacement : `\`${replacement}\``;
  return text.replaceAll('|', '\\|');
}

const marker = '<!-- names -->';
const [before, , after] = readFileSync(page, 'utf8').split(marker);
const tables = families.map(section).join('\n\n');
const text = await format([before, tables, after].join(`${marker}\n\n`), {
  ...(await resolveConfig(page)),
  parser: 'markdown',
});
if (!process.argv.includes('--check')) writeFileSync(page, text);
else if (readFileSync(page, 'utf8') !== text) {
  console.error('torch-names: docs/from-pytorch.md has different names than the code. Run npm run docs:api.');
  process.exitCode = 1;
}
