#!/usr/bin/env bash
# When does a job of each midnight ("0 0 * * *") run where clocks are set back from 24:00 to 23:00, as in Chile, Egypt and
# Lebanon? cron 4.4.0 (which @nestjs/schedule 12.0.2 uses), croner 11.0.1, node-cron 4.6.0 and node-schedule 2.1.1 (npm).
# cron runs it twice on that night: at the second 23:00 of the day that has not ended, and at 00:00. So what closes a day,
# sends its report or resets a daily quota does it an hour early, with the date of the day before, and then again. Where
# clocks are set back in the middle of the night (Berlin) nothing is wrong, and neither are the others. The clock and the
# timers are those of node:test.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

npm install --no-audit --no-fund --loglevel=error --ignore-scripts \
  cron@4.4.0 croner@11.0.1 node-cron@4.6.0 node-schedule@2.1.1 >/dev/null
cat >main.mjs <<'JS'
import { mock } from "node:test";
import { CronJob } from "cron";
import { Cron } from "croner";
import nodeCron from "node-cron";
import nodeSchedule from "node-schedule";

const rule = "0 0 * * *";
const starts = {
  cron: (timeZone, onTick) => CronJob.from({ cronTime: rule, timeZone, onTick, start: true }),
  croner: (timezone, run) => new Cron(rule, { timezone }, run),
  "node-cron": (timezone, run) => nodeCron.schedule(rule, run, { timezone }),
  "node-schedule": (tz, run) => nodeSchedule.scheduleJob({ rule, tz }, run),
};
const days = [
  ["America/Santiago", "2024-04-06T12:00:00Z"],
  ["Africa/Cairo", "2024-10-31T12:00:00Z"],
  ["Asia/Beirut", "2024-10-26T12:00:00Z"],
  ["Europe/Berlin", "2024-10-26T12:00:00Z"],
];
for (const [library, start] of Object.entries(starts))
  for (const [timeZone, noon] of days) {
    const runs = [];
    const format = new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "short", timeStyle: "short" });
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: new Date(noon) });
    const job = start(timeZone, () => runs.push(format.format(new Date())));
    for (let minute = 0; minute < 24 * 60; minute++) {
      mock.timers.tick(60_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    (job.stop ?? job.cancel).call(job);
    mock.timers.reset();
    console.log(library, timeZone, runs.join(" and "));
  }
process.exit();
JS
node --no-warnings main.mjs | tee seen
expected='cron America/Santiago 06/04/2024, 23:00 and 07/04/2024, 00:00
cron Africa/Cairo 31/10/2024, 23:00 and 01/11/2024, 00:00
cron Asia/Beirut 26/10/2024, 23:00 and 27/10/2024, 00:00
cron Europe/Berlin 27/10/2024, 00:00
croner America/Santiago 07/04/2024, 00:00
croner Africa/Cairo 01/11/2024, 00:00
croner Asia/Beirut 27/10/2024, 00:00
croner Europe/Berlin 27/10/2024, 00:00
node-cron America/Santiago 07/04/2024, 00:00
node-cron Africa/Cairo 01/11/2024, 00:00
node-cron Asia/Beirut 27/10/2024, 00:00
node-cron Europe/Berlin 27/10/2024, 00:00
node-schedule America/Santiago 07/04/2024, 00:00
node-schedule Africa/Cairo 01/11/2024, 00:00
node-schedule Asia/Beirut 27/10/2024, 00:00
node-schedule Europe/Berlin 27/10/2024, 00:00'
diff <(echo "$expected") seen
