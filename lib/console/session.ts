import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The one session of a console. It ends with the process, and nothing of it is stored. */
export interface Session {
  /**
   * The path of every address, without a slash at the end. Browsers send a cookie to every port of a host. They send this
   * one only below its path, which another server on this machine does not know.
   */
  readonly basePath: string;
  /** Starts the session, once. */
  readonly linkToken: string;
  /** Every change carries it, so that no other page can make one. */
  readonly formToken: string;
  /** Returns the value of the cookie for the link's token, once. */
  redeem(linkToken: string): string | undefined;
  /** True for the cookie that `redeem` returned. */
  ownsCookie(value: string | undefined): boolean;
  ownsForm(formToken: string | undefined): boolean;
}

/** Creates a session that nobody has joined yet. */
export function createSession(): Session {
  const [linkToken, formToken, cookie] = [newSecret(), newSecret(), newSecret()];
  let isRedeemed = false;
  return {
    basePath: `/${randomBytes(12).toString("base64url")}`,
    linkToken,
    formToken,
    redeem(token) {
      if (isRedeemed || !isEqual(token, linkToken)) return undefined;
      isRedeemed = true;
      return cookie;
    },
    ownsCookie: (value) => isRedeemed && isEqual(value, cookie),
    ownsForm: (token) => isEqual(token, formToken),
  };
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** Takes the same time wherever the two differ. */
function isEqual(given: string | undefined, secret: string): boolean {
  return given !== undefined && timingSafeEqual(digest(given), digest(secret));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
