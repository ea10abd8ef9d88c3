// The addon for macOS, read as a Mach-O file (mach-o/loader.h and mach-o/nlist.h of Apple's SDK): this machine cannot load it.
import { oldestMacos } from './targets.js';

const magic64 = 0xfeedfacf;
const cpuArm64 = 0x0100000c;
/** MH_DYLIB and MH_BUNDLE: files that dlopen() can load. */
const loadable = [6, 8];
const command = { symbolTable: 0x2, library: 0xc, signature: 0x1d, buildVersion: 0x32 };

/** The only library of the system that the addon may need. libc++ is linked into it. */
const systemLibrary = '/usr/lib/libSystem.B.dylib';

/** Of a symbol's library: the one that exports it in the process, which is Node. */
const dynamicLookup = 0xfe;

/** @returns Problems of a binary for macOS on arm64. */
export function problemsOfMachO(binary) {
  if (binary.length < 32 || binary.readUInt32LE(0) !== magic64) return ['ringrun.node is not a Mach-O file'];
  const problems = [];
  if (binary.readUInt32LE(4) !== cpuArm64) problems.push('ringrun.node is not for arm64');
  if (!loadable.includes(binary.readUInt32LE(12)))
    problems.push('ringrun.node is neither a library nor a bundle');
  const commands = commandsOf(binary);
  const others = librariesOf(commands).filter((name) => name !== systemLibrary);
  if (others.length > 0) problems.push(`ringrun.node needs ${others.join(', ')}`);
  const unknown = undefinedSymbols(binary, commands)
    .filter(({ name, library }) => library === dynamicLookup && !/^_(napi|node_api)_/.test(name))
    .map(({ name }) => name);
  if (unknown.length > 0) problems.push(`ringrun.node has undefined symbols: ${unknown.join(', ')}`);
  // Processors of Apple run no code without a signature, which may be one without a certificate.
  if (!commands.some(({ kind }) => kind === command.signature))
    problems.push('ringrun.node has no signature');
  const oldest = oldestSystemOf(commands);
  if (oldest !== oldestMacos) problems.push(`ringrun.node needs macOS ${oldest}, expected ${oldestMacos}`);
  return problems;
}

/** The load commands: numbers and bytes. */
function commandsOf(binary) {
  const commands = [];
  const count = binary.readUInt32LE(16);
  for (let at = 32; commands.length < count; at += binary.readUInt32LE(at + 4)) {
    const bytes = binary.subarray(at, at + binary.readUInt32LE(at + 4));
    // The highest bit: a loader that does not know the command must refuse the file.
    commands.push({ kind: binary.readUInt32LE(at) & 0x7fffffff, bytes });
  }
  return commands;
}

function librariesOf(commands) {
  const libraries = commands.filter(({ kind }) => kind === command.library);
  return libraries.map(({ bytes }) => textAt(bytes, bytes.readUInt32LE(8)));
}

/** Names, and the number of the library that has to export each (`dynamicLookup`: any). */
function undefinedSymbols(binary, commands) {
  const table = commands.find(({ kind }) => kind === command.symbolTable);
  if (table === undefined) return [];
  const [first, count, strings] = [8, 12, 16].map((at) => table.bytes.readUInt32LE(at));
  return Array.from({ length: count }, (_, i) => binary.subarray(first + 16 * i, first + 16 * (i + 1)))
    .filter((symbol) => (symbol.readUInt8(4) & 0x0e) === 0)
    .map((symbol) => ({
      name: textAt(binary, strings + symbol.readUInt32LE(0)),
      library: symbol.readUInt16LE(6) >> 8,
    }));
}

/** "14.0" */
function oldestSystemOf(commands) {
  const version = commands.find(({ kind }) => kind === command.buildVersion)?.bytes.readUInt32LE(12);
  return version === undefined ? 'of an unknown version' : `${version >> 16}.${(version >> 8) & 0xff}`;
}

function textAt(bytes, at) {
  return bytes.toString('latin1', at, bytes.indexOf(0, at));
}
