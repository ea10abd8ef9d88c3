// Opens the shared libraries that the arguments name, as dlopen finds them, and prints how each went.

/** By library: empty when it was opened, otherwise the loader's words. */
export type LibrariesAnswer = Record<string, string>;

const answer: LibrariesAnswer = {};
for (const name of process.argv.slice(2)) answer[name] = whyNotOpened(name);
process.stdout.write(JSON.stringify(answer));

/** Node opens a library, and only then finds that it is no addon. */
function whyNotOpened(name: string): string {
  try {
    process.dlopen({ exports: {} }, name);
    return '';
  } catch (error) {
    const { message } = error as Error;
    return message.startsWith('Module did not self-register') ? '' : message;
  }
}
