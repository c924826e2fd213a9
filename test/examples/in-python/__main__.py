"""A Pulumi program in Python that deploys the orders API."""

import pulumi
import pulumi_store_orders as store_orders

config = pulumi.Config()
service = store_orders.Service(
    f"orders-{pulumi.get_stack()}",
    plan="pro",
    domains=config.get_object("domains"),
    alarm_email=config.get_secret("alarmEmail"),
    protect=pulumi.get_stack() == "production",
)

pulumi.export("baseUrl", service.base_url)
pulumi.export("domains", service.domain_status)
