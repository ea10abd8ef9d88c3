/** The extensions of image files that torchvision reads. */
export const imageExtensions = ['.jpg', '.jpeg', '.png', '.ppm', '.bmp', '.pgm', '.tif', '.tiff', '.webp'];
