/**
 * A substitute for an image: the files of this machine, with some added. Its entrypoint, user, environment and folders
 * are those of the real image.
 */
export interface Image {
  /** Part of the image's name after the registry, without tag: `ringrun`, `kubeflow/trainer/…`. */
  name: string;
  entrypoint: string[];
  command: string[];
  user: number;
  workingDirectory: string;
  environment: Record<string, string>;
  /** Files and folders of this machine by their path in the image, read-only. */
  binds: Record<string, string>;
  /** Executable scripts by their path in the image. */
  scripts: Record<string, string>;
  /** Empty folders of the user. */
  folders: string[];
}

export const emptyImage: Image = {
  name: '',
  entrypoint: [],
  command: [],
  user: 0,
  workingDirectory: '/',
  environment: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  binds: {},
  scripts: {},
  folders: [],
};

/** The image of a container: `registry.example/ringrun:0.1.0` is the one named `ringrun`. */
export function findImage(images: readonly Image[], reference: string): Image | undefined {
  const withoutTag = reference.replace(/(@.*|:[^:/]*)$/, '');
  return images.find(({ name }) => withoutTag === name || withoutTag.endsWith(`/${name}`));
}
