#!/usr/bin/env bash
# moto 5.2.5, an emulator of AWS, and its FIFO queues of SQS.
# Amazon SQS: for five minutes, a message with the MessageDeduplicationId of an earlier one is accepted and not delivered,
# also if the earlier one was deleted. moto forgets the identifier with the message, and delivers the second: a test of
# duplicates passes on one of them and fails on the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"

python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check --no-compile 'moto[sqs]==5.2.5' boto3==1.44.8
cat >main.py <<'PY'
import os

os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="eu-central-1")
import boto3
from moto import mock_aws

with mock_aws():
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="a.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]

    def send(body):
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="g", MessageDeduplicationId="d")

    def receive():
        messages = sqs.receive_message(QueueUrl=url).get("Messages", [])
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [message["Body"] for message in messages]

    send("first")
    send("while it waits")
    print("received:", receive(), receive())
    send("once it is deleted")
    print("received:", receive())
PY
expected="received: ['first'] []
received: ['once it is deleted']"
python/bin/python main.py | tee seen
diff <(echo "$expected") seen
