import { isMissingPackage, missingPackage } from '@ringrun/core';
import type * as SharpModule from 'sharp';

/** An optional package. */
const name = 'sharp';

export type Sharp = typeof SharpModule.default;

let loading: Promise<Sharp> | undefined;

/** Loads sharp, which decodes images. Throws RingrunError `ERR_PACKAGE_MISSING` if it is not installed. */
export async function loadSharp(): Promise<Sharp> {
  loading ??= load();
  return await loading;
}

async function load(): Promise<Sharp> {
  try {
    const { default: sharp } = await import('sharp');
    // Images are not decoded twice, and several are decoded at the same time, each by one thread.
    sharp.cache(false);
    sharp.concurrency(1);
    return sharp;
  } catch (error) {
    if (isMissingPackage(error, name)) throw missingPackage('decoding images', name, error);
    throw error;
  }
}
