-- The requests that wrk sends, and the summary that it prints. Arguments: method, path, first identifier or "-", key, key, …
-- An identifier is appended to the path and increases by one with each request.
local static = {}
local head, tail, id
local keys = 0
local turn = 0

function init(args)
  local method, path, first = args[1], args[2], args[3]
  id = tonumber(first)
  tail = {}
  head = method .. " " .. path
  for index = 4, #args do
    keys = keys + 1
    tail[keys] = " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " .. args[index] .. "\r\n\r\n"
    static[keys] = head .. tail[keys]
  end
end

function request()
  turn = turn % keys + 1
  if id == nil then return static[turn] end
  id = id + 1
  return head .. string.format("%d", id) .. tail[turn]
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"rejected":%d,"failed":%d}\n', summary.requests, summary.duration / 1e6,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout
  ))
end
