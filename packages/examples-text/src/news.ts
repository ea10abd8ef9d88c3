/** A text and its class, from 0. */
export interface NewsText {
  text: string;
  label: number;
}

/** Parses the lines of AG News: `"class","title","description"`, with classes from 1 and quotes doubled. */
export function parseNews(csv: string): NewsText[] {
  return csv
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      const [, label, title, description] =
        /^"(\d+)","((?:[^"]|"")*)","((?:[^"]|"")*)"\r?$/.exec(line) ?? failLine(index, line);
      return { text: `${title} ${description}`.replaceAll('""', '"'), label: Number(label) - 1 };
    });
}

/** Texts of 3 to 60 words. A few words indicate the class, and one in ten of these is misleading. */
export function syntheticNews(count = 1500, classes = 4): NewsText[] {
  const number = (index: number) => Math.imul(index + 1, 0x9e3779b1) >>> 0;
  return Array.from({ length: count }, (_, index) => {
    const label = number(index) % classes;
    const words = Array.from({ length: 3 + (number(7 * index) % 58) }, (_, place) => {
      const drawn = number(100 * index + place);
      if (drawn % 4 > 0) return `word${drawn % 397}`;
      const shown = drawn % 40 === 0 ? (label + 1) % classes : label;
      return `topic${shown}x${(drawn >>> 8) % 20}`;
    });
    return { text: words.join(' '), label };
  });
}

function failLine(index: number, line: string): never {
  throw new Error(
    `AG News: line ${index + 1}: expected "class","title","description", got ${line.slice(0, 60)}.`,
  );
}
