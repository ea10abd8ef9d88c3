/** A file of an unexpected format, recognized by its first bytes. */
export interface KnownFormat {
  /** Completes "it is …". */
  what: string;
  /** A sentence. */
  cure: string;
}

const pytorch =
  'Convert a state dict of PyTorch with safetensors.torch.save_file(torch.load(file), "model.safetensors").';

/** A safetensors file may begin with a byte of any of these, but not with all. */
const formats: readonly (KnownFormat & { start: string | RegExp })[] = [
  {
    start: 'version https://git-lfs.github.com/spec/',
    what: 'a pointer of Git LFS: the file itself was not downloaded',
    cure: 'Run "git lfs install" and "git lfs pull" in its repository.',
  },
  {
    start: 'PK\x03\x04',
    what: 'a zip archive, as torch.save writes',
    cure: pytorch,
  },
  {
    start: '\x80\x02\x8a',
    what: 'a pickle, as torch.save of old versions writes',
    cure: pytorch,
  },
  { start: 'GGUF', what: 'a GGUF model', cure: 'Use the safetensors file of the model.' },
  { start: '\x89HDF', what: 'an HDF5 file, as Keras writes', cure: 'Convert it to the expected format.' },
  { start: '\x93NUMPY', what: 'an array of NumPy', cure: 'Convert it to the expected format.' },
  { start: '\x1f\x8b\x08', what: 'compressed by gzip', cure: 'Decompress it with gunzip.' },
  { start: '\x28\xb5\x2f\xfd', what: 'compressed by zstd', cure: 'Decompress it with "zstd --decompress".' },
  { start: 'BZh', what: 'compressed by bzip2', cure: 'Decompress it with bunzip2.' },
  { start: '\xfd7zXZ\0', what: 'compressed by xz', cure: 'Decompress it with unxz.' },
  {
    start: /^\s*<[!?a-z]/i,
    what: 'a web page or XML, such as the answer of a server that refused the download',
    cure: 'Download it again.',
  },
  { start: /^\s*\{\s*["}]/, what: 'JSON', cure: 'Pass the file that it describes.' },
];

/** Bytes of a file that `knownFormat` needs. */
export const formatBytes = 64;

/** The format of a file that begins with these bytes; undefined for an unknown format. */
export function knownFormat(start: Uint8Array): KnownFormat | undefined {
  const bytes = Math.min(start.length, formatBytes);
  const text = Buffer.from(start.buffer, start.byteOffset, bytes).toString('latin1');
  return formats.find(({ start }) => (typeof start === 'string' ? text.startsWith(start) : start.test(text)));
}
