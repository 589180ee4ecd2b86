"""Words that LINE writes in its exports: titles, placeholders of files, notices, and words for AM and PM, by language.

Placeholders are written without the brackets around them. To support a language, add words that occur in an export; do
not translate them yourself, because people's own words may match a translation.
"""

from __future__ import annotations

import re

PLACEHOLDERS = {
    "image": "photo | photos | image | 写真 | 画像 | 照片 | 圖片 | 图片 | ภาพ | รูป | รูปภาพ",
    "video": "video | videos | 動画 | 影片 | 视频 | วิดีโอ",
    "audio": "voice message | audio | ボイスメッセージ | 音声メッセージ | 語音訊息 | ข้อความเสียง",
    "gif": "gif",
    "sticker": "sticker | stickers | スタンプ | 貼圖 | 表情貼 | 스티커 | สติกเกอร์",
    "file": "file | files | album | ファイル | アルバム | 檔案 | 相簿 | 파일",
    "contact": "contact | contacts | 連絡先 | 聯絡資訊",
    "location": "location | 位置情報 | 位置訊息",
    "poll": "poll | 投票",
    "event": "event | イベント | 活動",
    "system": "note | ノート | 記事本",
}
KIND_OF = {words.strip(): kind for kind, row in PLACEHOLDERS.items() for words in row.split("|")}

CALL = re.compile(
    r"☎|(Call time|通話時間|通話时间) \d+:\d\d|"
    r"(Missed call|No answer|Canceled(?: the)? call|不在着信|応答なし|通話をキャンセルしました|"
    r"未接來電|無應答|取消通話)\Z",
)
UNSENT = re.compile(
    r"(?:You |.{1,60} )?unsent a (?:message|photo|video|sticker|file|voice message)\.?\Z|"
    r".{0,60}メッセージの送信を取り消しました。?\Z|.{0,60}已收回訊息\Z|.{0,60}ยกเลิกข้อความ(?:แล้ว)?\Z",
)
EVENTS = re.compile(
    r".{0,80}?("
    r"joined (the group|the chat)|left (the group|the chat)|changed the group (name|photo)\b.*|"
    r"(invited|added) .{1,80} to the (group|chat)|removed .{1,80} from the (group|chat)|"
    r"(がグループ|がトーク)に参加しました|(がグループを|がトークから)?退(会|出)しました|をグループに(招待|追加)しました|"
    r"グループ(名|の(アイコン|プロフィール画像))を.{0,60}変更しました|がアルバムを作成しました|"
    r"加入(群組|聊天)|(退出|離開)(群組|聊天)|已將群組名稱.{0,60}|邀請.{1,80}加入|"
    r"เข้าร่วมกลุ่ม(แล้ว)?|ออกจากกลุ่ม(แล้ว)?"
    r")[.。]?\Z"
)
TITLES = (
    r"Chat (?:history )?(?:with|in) (.+)", r"(.+?)との?トーク(?:履歴)?", r"(.+?)のトーク履歴",
    r"[與与和](.+?)的(?:聊天|對話|对话)[記紀记][錄录]", r"(.+?)的(?:聊天|對話|对话)[記紀记][錄录]",
    r"(.+?)님과(?:의)? (?:대화|채팅)(?: 내용| 기록)?", r"ประวัติการ(?:แชท|สนทนา)(?:กับ|ใน) ?(.+)",
    r"(?:Riwayat|Histori) (?:obrolan|chat) (?:dengan|di) (.+)",
)  # fmt: skip

BEFORE_NOON = "AM", "午前", "上午", "凌晨", "早上", "清晨", "오전"
AFTER_NOON = "PM", "午後", "下午", "中午", "傍晚", "晚上", "오후"


def title_of(line: str) -> str | None:
    """Return the name of the chat in an export's first line, such as "[LINE] Chat history with Tea club".

    Returns None if the line does not begin with [LINE]. The words around the name
    ("Chat history with") are removed if their language is known; otherwise all that follows [LINE] is returned.
    """
    if not line.startswith("[LINE]"):
        return None
    title = line.removeprefix("[LINE]").strip()
    found = next(filter(None, (re.fullmatch(form, title) for form in TITLES)), None)
    return found[1] if found else title


def kind_of(text: str, *, bracketed: bool) -> str:
    """Return the kind of a message of one line: "call", "deleted", the kind of file for a placeholder, else "text".

    - bracketed: whether the export writes placeholders in brackets, as phones do.
    """
    if CALL.match(text):
        return "call"
    if UNSENT.match(text):
        return "deleted"
    word = text.strip()
    if bracketed:
        word = word[1:-1] if len(word) > 2 and word[0] == "[" and word[-1] == "]" else ""
    return KIND_OF.get(word.lower(), "text")
