"""Hard strings for tokenizers, as bytes: many are not valid UTF-8."""

SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]"]


def plain():
    yield from ["", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\t\t", " \n", "\n ", " \n \n ", "\r\n", "\r\n\r\n", "\r",
                "a", " a", "a ", " a ", "  a", "a  ", "a\n", "\na", "a\n\nb", "a \n b", "a\t\tb", "a  b", "a   b", "a    b c"]
    yield from ["Hello world", "Hello, World!", "hello  world", "The quick brown fox jumps over the lazy dog.",
                "What's the time? It's 5 o'clock, isn't it?", "I'm you're he'd we'll they've let's", "I'M YOU'RE HE'D WE'LL THEY'VE",
                "'s 't 're 've 'm 'll 'd 'S 'T 'x", "''s '''ll 'lll 'rre", "don't won't can't shouldn't've", "rock 'n' roll",
                "it\u2019s a \u2018quoted\u2019 \u201cword\u201d", "do not do it , he said . really ? yes !", "x'\u017f y'\u017ft",
                "CamelCaseWordsAndsnake_case_words", "ALLCAPS lower MiXeD", "supercalifragilisticexpialidocious",
                "e-mail@example.com https://example.com/a?b=c&d=e#f", "C:\\path\\to\\file.txt", "/usr/local/bin", "a.b.c...d",
                "$100.00 100% #1 &amp; *bold* _it_ ~x~ `code` ^caret |pipe| <tag> {brace} [bracket] (paren)",
                "!!! ??? ... --- === +++ *** ###", "a+b=c a-b<c a>b a^b a~b a|b a$b", "!\n!\r\n!\n\n x", "word!\n\nnext", ");\n\n\t}"]


def numbers():
    yield from ["0", "7", "12", "123", "1234", "12345", "123456", "1234567890", " 1", "  12", "a1b22c333d4444", "3.14159", "1,000,000",
                "1e-5", "0xDEADBEEF", "2026-11-30T23:59:59", "v1.2.3-rc4", "1st 2nd 3rd", "10 000", "x 5", "x  5", "x   55",
                "\u0661\u0662\u0663\u0664", "\u0661123\u066245", "\u0967\u0968\u0969", "\uff11\uff12\uff13", "\u00bd \u00be x\u00b2 y\u00b3",
                "\u2160\u2161\u2162 \u216b", "\u2460\u2461\u2462", "\u4e00\u4e8c\u4e09 123", "\U0001d7ce\U0001d7cf", "\U00011de0\U00016ff4 7"]


def code():
    yield from ["def f(x):\n    return x + 1\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "if x:\n        pass\n\n\n    else:",
                "<html>\n  <body>\n    <p>Hi</p>\n  </body>\n</html>", "SELECT * FROM t WHERE a = 'b' AND c <> 10;",
                "{\"a\": [1, 2, 3], \"b\": null}", "#include <stdio.h>\n\nint main(void) { return 0; }", "\t\tx\n\t\t\ty\n",
                "    " * 8 + "x", " " * 100, "\n" * 50, "\t" * 20 + "a", " \t \t \n \t"]


def languages():
    yield from ["\u4f60\u597d\uff0c\u4e16\u754c\uff01", "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059\u3002", "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
                "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5 \u03a3\u03a3 \u039f\u03a3", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
                "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
                "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0 \u1c92\u1c90", "\u1ea4n t\u01b0\u1ee3ng Vi\u1ec7t Nam", "Stra\u00dfe \u1e9e \u00c4\u00d6\u00dc \u00e4\u00f6\u00fc",
                "\u0130stanbul \u0131\u015f\u0131k I\u0307", "caf\u00e9 na\u00efve r\u00e9sum\u00e9 \u00c5ngstr\u00f6m", "cafe\u0301 nai\u0308ve re\u0301sume\u0301 A\u030angstro\u0308m",
                "\u212b \u2126 \u212a", "\ufb01 \ufb02 \ufb03 \u01c6 \u01c5 \u01c4", "\u1100\u1161\u11a8 \uac01", "\u3042\u3099 \u304c \u30ab\u3099", "\uff28\uff45\uff4c\uff4c\uff4f",
                "mixed \u4e2d\u6587English\u6df7\u5408 text\u6587", "\u3400\u4db5 \U00020000\U0002a6d6 \uf900 \U0002f800 \U0002b820 \U0002b920", "\u3001\u3002\u300c\u300d\uff0c\uff1b",
                "\u0600\u0601 \u061d \u06dd \u070f", "\U00010400\U00010428 \U0001e900\U0001e922", "\u1c89 \ua7cb \U00010d50 \U00016ea0"]


def symbols():
    yield from ["\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\u2764\ufe0f\u200d\U0001f525",
                "1\ufe0f\u20e3 #\ufe0f\u20e3", "text \U0001f600\U0001f601 text", "\u2603\u2602 \u266b\u266a", "\u2190\u2191\u2192\u2193 \u21d2 \u2200x\u2208\u211d", "\u221a2 \u2248 1.414 \u00b1 0.001",
                "\u20ac5 \u00a35 \u00a55 \u20b95", "\u00a9 \u00ae \u2122 \u00a7 \u00b6", "a\u0301\u0302\u0303\u0304\u0305", "Z\u0351\u036b\u0343a\u0329\u0319l\u034e\u0354g\u0320o\u032d", "\u0323\u0307a \u0307\u0323a", "q\u0307\u0323 q\u0323\u0307 s\u0323\u0307",
                "\u200b\u200c\u200d\u2060\ufeff", "a\u200bb\u200cc\u200dd", "\ufeffBOM", "\u00ad\u00adsoft\u00adhyphen", "\u202eRTL\u202c \u2066x\u2069", "\u00a0nbsp\u00a0\u00a0x", "\u3000wide\u3000\u3000space", "a\u2003b\u2009c\u200ad\u202fe\u205ff\u1680g",
                "\u2028line\u2029para\u2028\u2028", "\u0085next\u0085\u0085line", "a\x0bb\x0cc\x0b\x0b", "\ue000\ue001 \uf8ff \U000f0000 \U0010fffd", "\ufffd \ufffe \uffff \U0001fffe", "\ufff9\ufffa\ufffb \ufffc", "\U000e0001\U000e0041 \U000e0100",
                "\u166d \U000111c9 \u2e43 \u09fd \u1b4e\u1b7f", "\u0898\u08ca \u1abf \u1ac1", "\u0378 \U0001fbf0 \u2fff", "\u2800\u28ff \u2500\u2588", "\U0001d400\U0001d4d0 \U0001d7d8", "\u0e33 \u0eb3 \u0f77 \u0f79"]


def control_and_added():
    yield "".join(map(chr, range(0, 32)))
    yield "".join(map(chr, range(127, 161)))
    yield from ["\x00", "a\x00b", "\x04\x06\x13", "\x1b[31mred\x1b[0m", "\x7f"]
    yield from SPECIAL
    yield from ["<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "a<|im_end|>b", " <|im_end|> ", "<|im_start|><|im_start|>", "<|im_start|", "<|im_end|>>",
                "<<|im_end|>", "<|IM_END|>", "text [MASK] text", "[CLS]a[SEP]b[SEP]", "[mask] [ MASK ] [[MASK]]", "<repo_name>x<file_sep>y<filename>z<gh_stars>5", "<reponame>", "x  <|endoftext|>  y"]


def long_ones():
    yield from ["a" * 99, "a" * 100, "a" * 101, "ab" * 300, "\u00e9" * 100, "\u00e9" * 101, "\u4e2d" * 120, "abcdefghijklmnopqrstuvwxyz" * 8,
                "1" * 64, "!" * 64, "x" + " " * 64 + "y", "\U0001f600" * 24, "the " * 40, "\u0301" * 40]


def broken_utf8():
    yield bytes(range(128, 256))
    yield from [b"\x80", b"a\x80b", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82A", b"\xe2(\xa1", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80",
                b"\xf0\x9f\x98", b"\xf0\x9f\x98 x", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff\xfe", b"\xe2\x82\xe2\x82\xac", b"\xf0\x9f\xf0\x9f\x98\x80", b"ok\xffok\xc3\xa9\xc3", b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"]


def all_strings():
    seen = []
    for group in (plain, numbers, code, languages, symbols, control_and_added, long_ones):
        seen += [s.encode() for s in group()]
    seen += list(broken_utf8())
    return list(dict.fromkeys(seen))
