/** Version and SHA-256 of the libraries in the platform packages. */
export const pinned: { version: string; sha256: Record<string, string> };
