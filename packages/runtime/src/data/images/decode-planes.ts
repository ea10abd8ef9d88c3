import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { loadSharp } from './sharp.ts';
import { decodeUncompressed } from './uncompressed-image.ts';
import { channels, planes } from './pixels.ts';

/** A decoded image, channel by channel and row by row. */
export interface Planes {
  data: Uint8Array;
  height: number;
  width: number;
}

/**
 * Decodes an image file: `'rgb'` as three channels without alpha, `'levels'` as the gray levels of the file.
 *
 * @param name its path, for errors
 * @throws InvalidDataError for a damaged file, or one without gray levels
 */
export async function decodePlanes(name: string, file: Uint8Array, as: 'rgb' | 'levels'): Promise<Planes> {
  const sharp = await loadSharp();
  try {
    const known = decodeUncompressed(file);
    const raw = known && { width: known.width, height: known.height, channels: channels as 3 };
    const image = known ? sharp(known.data, { raw: raw! }) : sharp(file, { failOn: 'error' });
    if (as === 'levels') requireLevels(name, await image.metadata());
    const { data, info } = await (
      as === 'rgb' ? image.toColourspace('srgb').removeAlpha() : image.extractChannel(0)
    )
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    return { data: as === 'rgb' ? planes({ data, width, height }) : data, width, height };
  } catch (error) {
    if (error instanceof InvalidDataError || !(error instanceof Error)) throw error;
    const problem = `expected a complete image, but it cannot be decoded (${error.message.trim()})`;
    throw new InvalidDataError(name, problem, 'Replace or remove the file.', { cause: error });
  }
}

function requireLevels(
  name: string,
  {
    channels: found,
    depth,
    isPalette,
    format,
  }: { channels: number; depth: string; isPalette?: boolean; format?: string },
): void {
  const problem = isPalette
    ? 'colours of a palette, whose numbers are lost when it is decoded'
    : found !== 1
      ? `${found} channels`
      : depth !== 'uchar'
        ? `levels of type ${depth}`
        : format === 'jpeg'
          ? 'a JPEG, which changes levels'
          : undefined;
  if (problem === undefined) return;
  throw new InvalidDataError(
    name,
    `expected a mask of gray levels of 8 bits, one for each class, got ${problem}`,
    "Save it as a gray PNG, such as with PIL: Image.fromarray(numpy.array(mask)).save('mask.png').",
  );
}
