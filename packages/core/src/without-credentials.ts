/**
 * User name and password of a URL. A password may contain `/`, `?` and `#`, but a colon before a port and a path does
 * not begin a password.
 */
const userInfo = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#"'<>]*|[^\s/?#@:"'<>]*:(?!\d+\/)[^\s"'<>]*)@/gi;

/** Parameters that sign a request or contain a secret, such as those of a presigned URL. */
const secretParameter =
  /([?&](?:x-amz-(?:signature|credential|security-token)|access_token|token|signature|sig|password|secret|api_?key)=)[^&\s"'<>]+/gi;

/** `text` with `***` in place of user names, passwords and signatures in its URLs, for messages and logs. */
export function withoutCredentials(text: string): string {
  return text.includes('://') ? text.replace(userInfo, '$1***@').replace(secretParameter, '$1***') : text;
}
