/** A program that never ends. Writes its process identifier to the file in its configuration. */
import { writeFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";

writeFileSync(new pulumi.Config().require("file"), `${process.pid}`);
await new Promise((resolve) => setTimeout(resolve, 1e9));
