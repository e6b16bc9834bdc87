import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import type { Row } from "../../src/question";
import { namedColumns } from "../../src/rows";
import { sheetFault, toXlsx } from "../../src/xlsx";
import { INDEX } from "./sample";

const { dictionary } = INDEX;

/** Returns the files of an archive by name, found by the directory at its end. */
async function unpacked(archive: Blob): Promise<Map<string, string>> {
  const bytes = Buffer.from(await archive.arrayBuffer());
  const end = bytes.length - 22;
  assert.equal(bytes.readUInt32LE(end), 0x06054b50);
  const files = new Map<string, string>();
  let at = bytes.readUInt32LE(end + 16);
  assert.equal(at + bytes.readUInt32LE(end + 12), end);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [packed, size, length, local] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24), bytes.readUInt16LE(at + 28), bytes.readUInt32LE(at + 42)];
    const name = bytes.toString("latin1", at + 46, at + 46 + length);
    // All that is known of a file is said twice, from its version to the length of its name.
    assert.deepEqual(bytes.subarray(local + 4, local + 30), bytes.subarray(at + 6, at + 32));
    const text = inflateRawSync(bytes.subarray(local + 30 + length, local + 30 + length + packed));
    assert.equal(text.length, size);
    files.set(name, text.toString());
    at += 46 + length;
  }
  return files;
}

async function sheet(columns: string[], rows: Row[], totals: Row | null = null): Promise<string[]> {
  const files = await unpacked(await toXlsx(namedColumns(columns, dictionary), rows, totals, dictionary));
  assert.equal(files.size, 6);
  const text = files.get("xl/worksheets/sheet1.xml")!;
  assert.ok(text.includes('<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'));
  return [...text.matchAll(/<row>(.*?)<\/row>/gs)].map(([, row]) => row!);
}

test("a sheet has labels, numbers as the service sent them in the formats of their fields, and totals in bold", async () => {
  const rows = [{ start: "2026-06-01", campaign: "A", leads: 3, "leads.pace": 0.125, spend: 0.1 }, { start: "2026-07-01", campaign: "", leads: 0, "leads.pace": null, spend: 7 }];
  const [header, first, second, last] = await sheet(["start", "campaign", "leads", "leads.pace", "spend"], rows, { leads: 3, "leads.pace": 0.25, spend: 7.1 });
  assert.deepEqual([...header!.matchAll(/>([^<>]+)</g)].map(([, label]) => label), ["From", "Campaign", "Leads", "Leads: pace", "Spend"]);
  assert.ok(header!.startsWith('<c s="1" '));
  const cells = (row: string) => row.replace(/ t="inlineStr"><is><t xml:space="preserve">(.*?)<\/t><\/is>/g, ">“$1”");
  assert.equal(cells(first!), '<c s="2"><v>46174</v></c><c s="0">“A”</c><c s="4"><v>3</v></c><c s="8"><v>0.125</v></c><c s="6"><v>0.1</v></c>');
  assert.equal(cells(second!), '<c s="2"><v>46204</v></c><c/><c s="4"><v>0</v></c><c/><c s="6"><v>7</v></c>');
  assert.equal(cells(last!), '<c s="3">“Total”</c><c/><c s="5"><v>3</v></c><c s="9"><v>0.25</v></c><c s="7"><v>7.1</v></c>');
});

test("no text of the data is markup, and none is a formula", async () => {
  const texts = ["<b>&", "=1+1", "a\u001b\r", "_x0041_", "\ud800"];
  const [, ...rows] = await sheet(["campaign"], texts.map((campaign) => ({ campaign })));
  const shown = rows.map((row) => /preserve">(.*)<\/t>/s.exec(row)![1]);
  assert.deepEqual(shown, ["&lt;b&gt;&amp;", "=1+1", "a_x001B__x000D_", "_x005F_x0041_", "_xD800_"]);
});

test("what fits into no sheet is refused", () => {
  assert.equal(sheetFault([{ campaign: "x".repeat(32_767) }]), null);
  assert.match(sheetFault([{ campaign: "x".repeat(32_768) }]) ?? "", /too long/);
  assert.match(sheetFault(new Array(1_048_575).fill({ leads: 1 })) ?? "", /not that many rows/);
});
