"""Calls the service with a client that was generated into a folder, and prints what it reads.

    python pypi_generated.py GENERATOR FOLDER BASE_URL KEYS
"""

import json
import sys

GENERATOR, FOLDER, BASE_URL, KEYS = sys.argv[1:]
sys.path.insert(0, FOLDER)


def from_openapi_python_client(key):
    from generated import AuthenticatedClient
    from generated.api.orders import cancel_order, list_orders

    client = AuthenticatedClient(base_url=BASE_URL, token=key)

    def read(response):
        parsed = response.parsed.code if response.status_code >= 400 else response.parsed
        return int(response.status_code), response.headers, parsed

    return (
        "none",
        lambda: read(list_orders.sync_detailed(client=client)),
        lambda order_id: read(cancel_order.sync_detailed(order_id, client=client)),
    )


def from_openapi_generator(key):
    import openapi_client
    from openapi_client.exceptions import ApiException

    configuration = openapi_client.Configuration(host=BASE_URL, access_token=key)
    api = openapi_client.OrdersApi(openapi_client.ApiClient(configuration))

    def read(call, *args):
        try:
            response = call(*args)
            return response.status_code, response.headers, response.data
        except ApiException as error:
            return error.status, error.headers, error.data.code

    return (
        openapi_client.Configuration().host,
        lambda: read(api.list_orders_with_http_info),
        lambda order_id: read(api.cancel_order_with_http_info, order_id),
    )


GENERATORS = {"openapi-python-client": from_openapi_python_client, "python": from_openapi_generator}
(base, list_orders, cancel), (_, list_spent, _) = [GENERATORS[GENERATOR](key) for key in KEYS.split(",")]
status, headers, code = list_spent()
found = {
    "base": base,
    "last": str(list_orders()[2][-1].id),
    "cancelled": cancel(1)[0],
    "missing": cancel(99)[::2],
    "conflict": cancel(1)[::2],
    "limited": [status, code, headers.get("retry-after")],
}
print(json.dumps(found))
