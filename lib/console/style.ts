import { CONTROLS } from "./style/controls.ts";
import { DOMAINS } from "./style/domains.ts";
import { FRAME } from "./style/frame.ts";
import { TABLES } from "./style/tables.ts";
import { TOKENS } from "./style/tokens.ts";

/** The style sheet of the page. */
export const STYLE = TOKENS + FRAME + TABLES + CONTROLS + DOMAINS;
