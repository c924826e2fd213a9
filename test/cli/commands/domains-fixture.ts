/** The platform host that the records point to. */
export const TARGET = "abc.platform.example";

export const DOMAINS_FILE = `
domains:
  primary: Orders.Example.com.
  redirects:
    - { from: www.orders.example.com, to: orders.example.com }
`;
