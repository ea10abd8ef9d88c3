import { escapedPattern, ignoredBy } from './dockerignore.ts';

/*
 * The files of a folder that become part of its image. An image is copied to registries and nodes, so a secret in it is
 * published, and a file that is missing is only an error at the start of the job. Therefore code and settings go in, and other
 * files only if the user names them. docs/kubernetes.md describes these lists, and a test compares them.
 */

/** Endings of the modules that Node.js imports. */
export const moduleEndings: readonly string[] = ['js', 'mjs', 'cjs', 'jsx', 'ts', 'mts', 'cts', 'tsx'];

/** Endings of files that go into the image. */
export const codeEndings: readonly string[] = [...moduleEndings, 'node', 'wasm', 'py', 'sh'];

/** Endings of files that go into the image, except those in `secrets` and `results`. */
export const settingsEndings: readonly string[] = ['json', 'yaml', 'yml', 'toml'];

/** Files and folders of any ending that a training, a test or a tool writes. */
export const results: readonly string[] = [
  ...['**/checkpoint-[0-9]*', '**/attempt_[0-9]*', '**/events.json', '**/*trace*.json', 'coverage'],
  // Lists of data sets. A folder of code may be named data, too.
  ...['data/**/*.json', 'dataset/**/*.json', 'datasets/**/*.json', '**/*-ubyte'],
  ...['**/node_modules', '**/venv', '**/site-packages', '**/__pycache__'],
  // Git's files, caches and settings of tools.
  '**/.*',
];

/** Beginnings or ends of the names of settings files that have passwords or keys. */
const secretNames = [
  ...['*secret*', '*credential*', '*password*', '*token', '*tokens', '*key', '*keys'],
  ...['service-account*', 'service_account*', 'kubeconfig*', 'auth'],
];

/** Files that never go into an image: secrets, and files that contain the memory or the environment of a process. */
export const secrets: readonly string[] = [
  ...[
    '**/*.secret',
    '**/*.token',
    '**/*.pem',
    '**/*.key',
    '**/*.p12',
    '**/*.pfx',
    '**/*.jks',
    '**/*.keystore',
  ],
  ...['**/*.kdbx', '**/*.ppk', '**/*.gpg', '**/*.asc', '**/*.tfstate', '**/*.ovpn'],
  ...[
    '**/.env',
    '**/.env.*',
    '**/*.env',
    '**/.git',
    '**/.npmrc',
    '**/.yarnrc.yml',
    '**/.netrc',
    '**/.pypirc',
  ],
  ...['**/.aws', '**/.azure', '**/.config', '**/.docker', '**/.gnupg', '**/.kube', '**/.ssh', '**/.s3cfg'],
  ...['**/.git-credentials', '**/.pgpass', '**/.htpasswd', '**/.*_history', '**/.vault-token'],
  ...['**/id_rsa', '**/id_dsa', '**/id_ecdsa', '**/id_ed25519', '**/kubeconfig', '**/credentials'],
  // In the folder itself only, because a folder of code may have such a name.
  ...['*secret', '*secrets', '*token', '*password', '*passwd', '*_key', '*-key', 'core'],
  ...['**/core.[0-9]*', '**/*.core', '**/*.heapsnapshot', '**/report.*.json'],
  ...[...settingsEndings, 'txt'].flatMap((ending) => secretNames.map((name) => `**/${name}.${ending}`)),
];

const beginOf = (block: string) => `# >>> ringrun deploy: ${block}`;
const end = '# <<< ringrun deploy';
const kindsBegin = beginOf('code and settings go into the image, other files do not');
const secretsBegin = beginOf('secrets stay out');

const hint = [
  '# Other files that the training needs, such as a data set in this folder, one line each:',
  '#   !data',
];

/** The properties of a folder that determine its .dockerignore. */
export interface IgnoreOptions {
  /** Folder of the manifests, relative to that of the image. */
  output: string;
  /** Names of the manifests. */
  manifests: readonly string[];
  /** Patterns of files that the training needs besides. */
  included: readonly string[];
  /** Folders of code. Lines that would exclude one are left out. */
  codeFolders: readonly string[];
  /** Path of the job's secret in the folder, if any. It may have any name. */
  secretFile?: string;
  /** Whether the user wrote the Dockerfile. Then only secrets are kept out, because it may need all other files. */
  isOwnDockerfile: boolean;
}

/**
 * The text of .dockerignore: a block of lines, the lines of the user, and the block of secrets. The last line that matches
 * a file counts, so lines of the user win over the first block, and secrets over both.
 *
 * @param earlier the text of the existing file; its lines outside of both blocks are kept
 */
export function dockerignoreOf(earlier: string | undefined, options: IgnoreOptions): string {
  const { own, after, hadKinds } = split(earlier ?? '');
  const secretFile = options.secretFile && escapedPattern(options.secretFile);
  const keep = (patterns: readonly string[]) =>
    patterns.filter((pattern) => !options.codeFolders.some(ignoredBy(pattern)));
  const lists = options.isOwnDockerfile && !hadKinds ? [] : [kindsBegin, ...keep(kindsOf(options)), end];
  const isNew = earlier === undefined;
  const added = options.included.map((pattern) => `!${pattern}`).filter((line) => !own.includes(line));
  const lines = [
    ...lists,
    ...(isNew && lists.length > 0 ? ['', ...hint] : []),
    ...(isNew && lists.length === 0 ? keep(['**/node_modules', ...deployFiles(options)]) : []),
    ...own,
    ...added,
    ...(isNew ? [''] : []),
    ...[secretsBegin, ...keep(secrets), end],
    ...after,
    ...(secretFile === undefined || after.includes(secretFile) ? [] : [secretFile]),
  ];
  return `${lines.join('\n')}\n`;
}

function kindsOf(options: IgnoreOptions): string[] {
  // A folder of results may have code. Files of settings in it are results.
  const isOfSettings = (pattern: string) => pattern.endsWith('.json');
  return [
    '**/*.*',
    ...settingsEndings.map((ending) => `!**/*.${ending}`),
    ...results.filter(isOfSettings),
    ...codeEndings.map((ending) => `!**/*.${ending}`),
    ...results.filter((pattern) => !isOfSettings(pattern)),
    ...deployFiles(options),
  ];
}

/** The files that `ringrun deploy` writes. */
function deployFiles({ output, manifests }: IgnoreOptions): string[] {
  const files = ['Dockerfile*', '*.dockerignore'];
  if (output === '.') return [...files, ...manifests];
  return output.startsWith('..') ? files : [...files, output];
}

/** The lines of the user: those before the block of secrets, and those after it. */
function split(text: string): { own: string[]; after: string[]; hadKinds: boolean } {
  // A byte order mark counts at the beginning of the file only, so later it would be part of a pattern.
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  const hadKinds = lines.includes(kindsBegin);
  withoutBlock(lines, kindsBegin);
  const at = withoutBlock(lines, secretsBegin);
  return { own: at === -1 ? lines : lines.slice(0, at), after: at === -1 ? [] : lines.slice(at), hadKinds };
}

/** Removes a block, and returns its index or -1. Lines after a block without an end are kept. */
function withoutBlock(lines: string[], begin: string): number {
  const at = lines.indexOf(begin);
  if (at === -1) return -1;
  const next = lines.findIndex((line, index) => index > at && [kindsBegin, secretsBegin, end].includes(line));
  lines.splice(at, lines[next] === end ? next - at + 1 : 1);
  return at;
}
