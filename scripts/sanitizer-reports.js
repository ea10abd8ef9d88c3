// Filters the reports of sanitizers: keeps those about the addon, drops those about Node and other libraries.

/** The addon, and kernels that the fake GPU has compiled. */
const addon = /(ringrun\.node|ringrun-fake-module-[\w-]+\.so)\+0x/;
const isOfAddon = (text) => addon.test(text);

/**
 * The reports about the addon in the text of one file. Undefined behaviour and invalid memory accesses: all reports,
 * because only the addon is instrumented. Races and leaks: reports about memory that the addon accesses or allocates
 * itself, because ThreadSanitizer does not see how Node and onnxruntime synchronise, and V8 hides pointers from
 * LeakSanitizer.
 */
export function reportsAboutTheAddon(text) {
  if (text.includes('ThreadSanitizer')) return text.split(/^={18}\n/m).filter(isReportOfAddon);
  if (text.includes('LeakSanitizer')) return text.split(/\n\n+/).filter(isLeakOfAddon);
  return text.trim() === '' || isTracerFailure(text) ? [] : [text];
}

/** True if LeakSanitizer's own thread, which stops the others at the end to look for leaks, failed: it has found nothing then. */
function isTracerFailure(text) {
  return /^\s*Tracer caught signal \d+: [^\n]*\s*$/.test(text);
}

function isReportOfAddon(report) {
  const accesses = report.split(/\n\n+/).filter((paragraph) => / of size \d+ at 0x/.test(paragraph));
  return accesses.length > 0 ? accesses.some(isCalledByAddon) : isOfAddon(report);
}

/** Whether the addon allocated the memory itself; frames of the allocator and the C++ library precede the caller. */
function isLeakOfAddon(paragraph) {
  if (!/(Direct|Indirect) leak of/.test(paragraph)) return false;
  return isCalledByAddon(paragraph);
}

function isCalledByAddon(paragraph) {
  const frames = paragraph.split('\n').filter((line) => /^ +#\d+ /.test(line));
  const caller = frames.find((frame) => !/lib(asan|tsan|stdc\+\+)\.so/.test(frame));
  return caller !== undefined && isOfAddon(caller);
}
