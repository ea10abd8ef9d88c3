// Runs programs of train-programs one after another in the same processes, which start once: `train-programs.script.ts
// <folder> <names>…`. Each program is a whole script, with a process group of its own.
const [, , , ...names] = process.argv;
for (const name of names) await import(new URL(`train-programs/${name}.script.js`, import.meta.url).href);
