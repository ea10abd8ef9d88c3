// The TypeScript of a page as modules, with the line numbers of the page, so that errors point to it.
import type { Page, Snippet } from './markdown.ts';

export interface Module {
  readonly name: string;
  readonly code: string;
}

const scripts = new Set(['ts', 'js']);

export const isScript = ({ language }: Snippet): boolean => scripts.has(language);

/** The file name of a snippet: its first line is a comment that ends with the name, such as `// train.ts`. */
export function fileNameOf({ code }: Snippet): string | undefined {
  return /^\/\/ (?:\S+ )*?([\w-]+\.(?:ts|mjs|js))(?=[\s,]|$)/.exec(code)?.[1];
}

/** The files of a page, with the rest of its snippets in one module. Those that are only compiled are in another. */
export function modulesOf(page: Page): {
  files: Module[];
  run: Module | undefined;
  compiled: Module | undefined;
} {
  const snippets = page.snippets.filter((one) => isScript(one) && one.notRun === undefined);
  const files = snippets.flatMap((one) => {
    const name = fileNameOf(one);
    return name === undefined ? [] : [{ name, code: `${one.code}\n` }];
  });
  const others = snippets.filter((one) => fileNameOf(one) === undefined);
  return {
    files,
    run: moduleOf(
      page,
      others.filter(({ compiledOnly }) => compiledOnly === undefined),
      'snippets.ts',
    ),
    compiled: moduleOf(
      page,
      others.filter(({ compiledOnly }) => compiledOnly !== undefined),
      'compiled.ts',
    ),
  };
}

/** Snippets as blocks after the setups before them. Their imports are in the first line. */
function moduleOf(page: Page, snippets: readonly Snippet[], name: string): Module | undefined {
  if (snippets.length === 0) return undefined;
  const last = Math.max(...snippets.map(({ line }) => line));
  const lines: string[] = [];
  const put = (line: number, code: string) => {
    for (const [index, text] of code.split('\n').entries()) lines[line - 1 + index] = text;
  };
  const imports: string[] = [];
  for (const { language, line, code } of page.setups) if (language === 'ts' && line < last) put(line, code);
  for (const { line, code } of snippets) {
    const body = code.replaceAll(/^import [^;]*;.*$/gm, (statement) => {
      imports.push(statement.replaceAll(/\n/g, ' ').replace(/;.*/, ';'));
      return statement.replaceAll(/[^\n]/g, '');
    });
    put(line - 1, '{');
    put(line, body);
    put(line + body.split('\n').length, '}');
  }
  const [first = '', ...rest] = Array.from(lines, (text: string | undefined) => text ?? '');
  return { name, code: [`${imports.join(' ')} ${first}`, ...rest, 'export {};', ''].join('\n') };
}
