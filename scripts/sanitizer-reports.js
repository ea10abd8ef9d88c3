// What the sanitizers wrote, without what concerns Node and the other libraries of a process.

const addon = 'ringrun.node+0x';
const isOfAddon = (text) => text.includes(addon);

/**
 * The reports in the text of one file that are about the addon. Of undefined behaviour and of bad accesses to memory, every
 * one: Node and its libraries are not instrumented, so what is found is found in the addon, or in what it has called.
 * Of races and leaks, those that name it: Node synchronises by means that ThreadSanitizer does not see, and V8
 * hides pointers from the search for leaks.
 */
export function reportsAboutTheAddon(text) {
  if (text.includes('ThreadSanitizer')) return text.split(/^={18}\n/m).filter(isOfAddon);
  if (text.includes('LeakSanitizer')) return text.split(/\n\n+/).filter(isLeakOfAddon);
  return text.trim() === '' ? [] : [text];
}

/** Allocated by the addon itself, not by Node on its behalf: the first frames are the allocator's, and may be C++'s library's. */
function isLeakOfAddon(paragraph) {
  if (!/(Direct|Indirect) leak of/.test(paragraph)) return false;
  const frames = paragraph.split('\n').filter((line) => /^ +#\d+ /.test(line));
  const caller = frames.find((frame) => !/lib(asan|stdc\+\+)\.so/.test(frame));
  return caller !== undefined && isOfAddon(caller);
}
