/** Version and SHA-256 of zeromq's binaries in the platform packages. */
export const pinnedZeromq: { version: string; sha256: Record<string, string> };
