import sharp from 'sharp';

/** RGB of a pixel. */
export type ColourAt = (x: number, y: number) => readonly [red: number, green: number, blue: number];

/** An image with another colour at each pixel, which survives as it is in PNG. */
export const gradient: ColourAt = (x, y) => [(x * 7) % 256, (y * 5) % 256, (x * y) % 256];

/** A PNG or JPEG file. */
export async function imageFile(
  width: number,
  height: number,
  colourAt: ColourAt = gradient,
  format: 'png' | 'jpeg' = 'png',
): Promise<Buffer> {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) pixels.set(colourAt(x, y), (y * width + x) * 3);
  }
  return await sharp(pixels, { raw: { width, height, channels: 3 } })
    .toFormat(format)
    .toBuffer();
}
