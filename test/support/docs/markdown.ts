// The contents of the pages: snippets with their comments, links and headings.

/** A fenced block of a page. */
export interface Snippet {
  readonly page: string;
  /** Line of the page where the code begins, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** Why it is not run; undefined: it is run. */
  readonly notRun?: string;
  /** Why it is compiled, but not run. */
  readonly compiledOnly?: string;
  /** Lines with this text are left out. */
  readonly leftOut?: string;
}

/** Code in an HTML comment `<!-- setup [language]`, which readers do not see. */
export interface Setup {
  readonly line: number;
  readonly language: string;
  readonly code: string;
}

export interface Page {
  readonly path: string;
  readonly snippets: readonly Snippet[];
  readonly setups: readonly Setup[];
  readonly links: readonly Link[];
  readonly anchors: ReadonlySet<string>;
}

export interface Link {
  readonly line: number;
  readonly target: string;
}

const fence = /^( *)(`{3,}|~{3,})\s*(\S*).*$/;

/** Reads a page of Markdown. */
export function pageOf(path: string, text: string): Page {
  const lines = text.split('\n');
  const snippets: Snippet[] = [];
  const setups: Setup[] = [];
  const prose: string[] = [];
  let directives = '';
  for (let at = 0; at < lines.length; at += 1) {
    const opening = fence.exec(lines[at]);
    if (opening) {
      const [, indent, marks, language] = opening;
      const end = lines.findIndex((line, i) => i > at && line.trim() === marks);
      const code = lines
        .slice(at + 1, end)
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
      snippets.push({
        page: path,
        line: at + 2,
        language,
        code: code.join('\n'),
        ...directivesOf(directives),
      });
      prose.push(...lines.slice(at, end + 1).map(() => ''));
      at = end;
      directives = '';
      continue;
    }
    if (lines[at].trimStart().startsWith('<!--')) {
      const end = lines.findIndex((line, i) => i >= at && line.includes('-->'));
      const comment = lines.slice(at, end + 1);
      const language = /^<!-- setup (\w+)$/.exec(comment[0])?.[1];
      if (comment[0].startsWith('<!-- setup')) {
        setups.push({ line: at + 2, language: language ?? 'ts', code: comment.slice(1, -1).join('\n') });
      } else {
        directives = comment.join(' ').trim();
      }
      prose.push(...comment.map(() => ''));
      at = end;
      continue;
    }
    if (lines[at].trim() !== '') directives = '';
    prose.push(lines[at]);
  }
  return { path, snippets, setups, links: linksOf(prose), anchors: anchorsOf(prose) };
}

function directivesOf(comment: string): Pick<Snippet, 'notRun' | 'compiledOnly' | 'leftOut'> {
  const [, kind, what, reason] =
    /^<!-- (not run|compiled|left out)(?: \((.*?)\))?: (.+?) -->$/.exec(comment) ?? [];
  if (kind === 'not run') return { notRun: reason };
  if (kind === 'compiled') return { compiledOnly: reason };
  return kind === 'left out' ? { leftOut: what } : {};
}

/** Links of the form [text](target) and [text]: target, except those in code. */
function linksOf(prose: readonly string[]): Link[] {
  return prose.flatMap((line, index) => {
    const text = line.replaceAll(/`[^`]*`/g, '');
    const targets = [
      ...text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g),
      ...text.matchAll(/^\[[^\]]+\]:\s*(\S+)/g),
    ];
    return targets.map(([, target]) => ({ line: index + 1, target }));
  });
}

/** GitHub's names of the headings, and names of <a>. */
function anchorsOf(prose: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const line of prose) {
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
    if (heading !== undefined) {
      const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
      const slug = plain
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-');
      let name = slug;
      for (let copy = 1; anchors.has(name); copy += 1) name = `${slug}-${copy}`;
      anchors.add(name);
    }
    for (const [, name] of line.matchAll(/<a (?:name|id)="([^"]+)"/g)) anchors.add(name);
  }
  return anchors;
}
