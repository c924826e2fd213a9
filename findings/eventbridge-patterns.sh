#!/usr/bin/env bash
# Patterns of EventBridge's rules: event-ruler 2.1.0, AWS's own library (Maven), against the emulators moto 5.2.5 and
# LocalStack (localstack-core 4.14.0, PyPI).
# In a list of objects, AWS matches one object: moto matches none at all, and LocalStack joins fields of several, so that a
# rule for "two of a" matches an order with one of a and two of b. For AWS and LocalStack an empty list does not exist, for
# moto it does. "numeric" does not find most integers beyond 2^53 in AWS, neither above nor below 0, although a pattern with
# the integer itself is exact to the last digit; the emulators compare them. Both take true for 1. So a rule that fired in a
# test may never fire, and the reverse.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

for program in java mvn; do
  command -v "$program" >/dev/null || { echo "needs Java 17: apt-get install openjdk-17-jdk-headless maven" >&2; exit 2; }
done
cat >pom.xml <<'XML'
<project>
  <modelVersion>4.0.0</modelVersion><groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>software.amazon.event.ruler</groupId><artifactId>event-ruler</artifactId><version>2.1.0</version></dependency>
  </dependencies>
</project>
XML
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy-dependencies -DoutputDirectory=jars >maven 2>&1 ||
  { cat maven >&2; exit 2; }
for emulator in moto localstack; do python3 -m venv "$emulator"; done
moto/bin/pip install --quiet --disable-pip-version-check --no-compile 'moto[events]==5.2.5' boto3==1.44.8
localstack/bin/pip install --quiet --disable-pip-version-check --no-compile localstack-core==4.14.0 boto3==1.44.8 rolo==0.8.9 \
  jsonpatch==1.48
cat >cases <<'CASES'
one of a list of objects	{"lines":{"sku":["a"]}}	{"lines":[{"sku":"b"},{"sku":"a"}]}
two fields of one object	{"lines":{"sku":["a"],"count":[2]}}	{"lines":[{"sku":"a","count":2},{"sku":"b","count":1}]}
two fields of two objects	{"lines":{"sku":["a"],"count":[2]}}	{"lines":[{"sku":"a","count":1},{"sku":"b","count":2}]}
an empty list exists	{"tags":[{"exists":true}]}	{"tags":[]}
an empty list is absent	{"tags":[{"exists":false}]}	{"tags":[]}
13 digits are above 0	{"id":[{"numeric":[">",0]}]}	{"id":1790000000000}
19 digits are above 0	{"id":[{"numeric":[">",0]}]}	{"id":1234567890123456789}
19 digits are not above 0	{"id":[{"numeric":["<=",0]}]}	{"id":1234567890123456789}
19 digits are equal	{"id":[1234567890123456789]}	{"id":1234567890123456789}
the 19th digit differs	{"id":[1234567890123456789]}	{"id":1234567890123456788}
true is 1	{"count":[1]}	{"count":true}
CASES
cat >Aws.java <<'JAVA'
import java.nio.file.*;
import software.amazon.event.ruler.Machine;

class Aws {
  public static void main(String[] arguments) throws Exception {
    for (String line : Files.readAllLines(Path.of("cases"))) {
      String[] fields = line.split("\t");
      Machine machine = Machine.builder().build();
      machine.addRule("rule", fields[1]);
      System.out.println(machine.rulesForJSONEvent(fields[2]).isEmpty() ? "no" : "yes");
    }
  }
}
JAVA
cat >emulators.py <<'PY'
import json, sys

def moto(pattern, event):
    return EventPattern(pattern, EventPatternParser(pattern).parse()).matches_event(json.loads(event))

def localstack(pattern, event):
    return EventRuleEngine().evaluate_pattern_on_event(EventPatternCompiler().compile_event_pattern(pattern), event)

if sys.argv[1] == "moto":
    from moto.events.models import EventPattern, EventPatternParser
else:
    from localstack.services.events.event_rule_engine import EventPatternCompiler, EventRuleEngine
for line in open("cases"):
    print("yes" if globals()[sys.argv[1]](*line.rstrip("\n").split("\t")[1:]) else "no")
PY
java -cp 'jars/*' Aws.java >aws.seen
for emulator in moto localstack; do "$emulator/bin/python" -W ignore emulators.py "$emulator" >"$emulator.seen"; done
{ echo pattern,AWS,moto,LocalStack; cut -f1 cases | paste -d, - aws.seen moto.seen localstack.seen; } | tee seen
expected='pattern,AWS,moto,LocalStack
one of a list of objects,yes,no,yes
two fields of one object,yes,no,yes
two fields of two objects,no,no,yes
an empty list exists,no,yes,no
an empty list is absent,yes,no,yes
13 digits are above 0,yes,yes,yes
19 digits are above 0,no,yes,yes
19 digits are not above 0,no,no,no
19 digits are equal,yes,yes,yes
the 19th digit differs,no,no,no
true is 1,no,yes,yes'
diff <(echo "$expected") seen
