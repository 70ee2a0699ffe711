-- Asks a language server about a file, and prints its answers, a line each. Runs in Neovim 0.7 or later:
--
--     PROGRAM=fulgurite INDEX=code.ful nvim --headless -u NONE -i NONE -n src/main.rs -c "luafile editor.lua"
--
-- The cursor's place is `LINE` and `CHARACTER`, from 0, in units of UTF-16. The words to search for are `WORDS`.

local root = vim.loop.cwd()
local buffer = vim.api.nvim_get_current_buf()
local wait = 20000 -- milliseconds

-- Neovim's own `print` writes to standard error.
local function report(...)
  io.stdout:write(table.concat({ ... }, " "), "\n")
end

local function place(uri, range)
  local path = vim.uri_to_fname(uri)
  return string.format("%s:%d:%d", path:sub(#root + 2), range.start.line + 1, range.start.character + 1)
end

local function ask(method, parameters)
  local answers, failure = vim.lsp.buf_request_sync(buffer, method, parameters, wait)
  local answer = answers and select(2, next(answers))
  if not answer or answer.error then
    error(method .. ": " .. (failure or vim.inspect(answer and answer.error)))
  end
  return answer.result or {}
end

local function session()
  local command = { vim.env.PROGRAM, "facts", "lsp", vim.env.INDEX }
  local options = { name = "fulgurite", cmd = command, root_dir = root }
  -- Neovim 0.7 has no `start`, which attaches the buffer too.
  local client = (vim.lsp.start or vim.lsp.start_client)(options)
  assert(client and vim.lsp.buf_attach_client(buffer, client), "the server has not started")
  local function is_ready()
    local known = vim.lsp.get_client_by_id(client)
    return known and known.initialized
  end
  assert(vim.wait(wait, is_ready, 5), "the server has not answered")

  local document = { uri = vim.uri_from_bufnr(buffer) }
  local position = { line = tonumber(vim.env.LINE), character = tonumber(vim.env.CHARACTER) }
  local here = { textDocument = document, position = position, context = { includeDeclaration = true } }
  for _, method in ipairs({ "definition", "references" }) do
    for _, found in ipairs(ask("textDocument/" .. method, here)) do
      report(method, place(found.uri or found.targetUri, found.range or found.targetSelectionRange))
    end
  end
  local hover = ask("textDocument/hover", here)
  report("hover", (hover.contents.value:gsub("%s+", " ")))
  for _, symbol in ipairs(ask("textDocument/documentSymbol", here)) do
    report("symbol", symbol.name)
  end
  for _, symbol in ipairs(ask("workspace/symbol", { query = vim.env.WORDS })) do
    report("workspace", symbol.name, place(symbol.location.uri, symbol.location.range))
  end

  vim.lsp.stop_client(client)
  assert(vim.wait(wait, function() return vim.lsp.get_client_by_id(client) == nil end, 5), "the server has not ended")
end

local done, failure = pcall(session)
if not done then
  report("failed", failure)
  vim.cmd("cquit")
end
vim.cmd("qall!")
