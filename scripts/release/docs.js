// The pages of the documentation in the published packages.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const repository = 'https://github.com/ringrun/ringrun/blob/main';

/** Pages for those who change ringrun. Its users get them by their links. */
const inside = [
  'algorithms',
  'architecture',
  'checkpoint-format',
  'decisions',
  'rendezvous',
  'torch-coverage',
  'wire-format',
];

/** Pages of a package that is also installed without `ringrun`. */
const pagesByPackage = {
  '@ringrun/nn': ['ddp', 'from-pytorch', 'gpu', 'onnx', 'performance', 'recipes', 'training-step'],
  '@ringrun/tfjs': ['tfjs'],
  '@ringrun/pretrained': ['pretrained'],
  '@ringrun/train': ['training'],
};

/** File names of the pages in a package. Packages that are parts of `ringrun` have none. */
export function pagesOf(packageName) {
  if (packageName !== 'ringrun') return (pagesByPackage[packageName] ?? []).map((name) => `${name}.md`);
  return readdirSync(join(root, 'docs')).filter(
    (name) => name.endsWith('.md') && !inside.includes(basename(name, '.md')),
  );
}

/**
 * Writes the pages and the README of a package into its staged folder.
 *
 * @param folder The package in the repository, such as `packages/nn`.
 */
export function addDocs(staged, folder, packageName) {
  const pages = pagesOf(packageName);
  // npm's site resolves the links of a README in the repository, so they cannot name files of the package.
  const readme = published(readFileSync(join(root, folder, 'README.md'), 'utf8'), folder, []);
  writeFileSync(join(staged, 'README.md'), readme);
  if (pages.length > 0) mkdirSync(join(staged, 'docs'));
  for (const name of pages) {
    const text = readFileSync(join(root, 'docs', name), 'utf8');
    writeFileSync(join(staged, 'docs', name), published(text, 'docs', pages));
  }
}

/** A page without the comments for its tests, with links to the repository for what the package does not contain. */
function published(text, folder, pages) {
  const page = text.replaceAll(/^<!--[^]*?-->\n\n?/gm, '');
  return withTargets(page, (target) => {
    const [path, anchor] = target.split('#');
    const file = normalize(join(folder, path));
    if (dirname(file) === 'docs' && pages.includes(basename(file))) return target;
    return `${repository}/${file}${anchor === undefined ? '' : `#${anchor}`}`;
  });
}

/** Links of the pages in a staged package whose files it does not contain. */
export function problemsOfDocs(folder, manifest) {
  const pages = pagesOf(manifest.name).map((name) => `docs/${name}`);
  return ['README.md', ...pages].flatMap((page) => {
    if (!existsSync(join(folder, page))) return page === 'README.md' ? [] : [`${page} is missing`];
    const missing = [];
    withTargets(readFileSync(join(folder, page), 'utf8'), (target) => {
      const file = join(dirname(page), target.split('#')[0]);
      if (!existsSync(join(folder, file))) missing.push(`${page} links to ${file}, which is missing`);
      return target;
    });
    return missing;
  });
}

/** The text with other targets of its links to files. Code has no links. */
function withTargets(text, targetFor) {
  let isCode = false;
  const lines = text.split('\n').map((line) => {
    if (/^ *(```|~~~)/.test(line)) isCode = !isCode;
    if (isCode) return line;
    const parts = line.split('`');
    return parts
      .map((part, i) => (i % 2 === 1 && i < parts.length - 1 ? part : withLinks(part, targetFor)))
      .join('`');
  });
  return lines.join('\n');
}

function withLinks(prose, targetFor) {
  return prose
    .replaceAll(/\]\((?!#|[a-z]+:)([^)\s]+)\)/g, (_, target) => `](${targetFor(target)})`)
    .replaceAll(/^(\[[^\]]+\]:\s*)(?!#|[a-z]+:)(\S+)/g, (_, start, target) => start + targetFor(target));
}
