"""Chinese words: ``key: form classifier`` for nouns; ``=`` joins two words of a compound."""

NOUNS = """
mother: 母亲 位
father: 父亲 位
child: 孩子 个
grandmother: 祖母 位
baby: 婴儿 个
brother: 兄弟 个
sister: 姐妹 个
uncle: 叔叔 位
family: 家庭 个
house: 房子 座
bed: 床 张
garden: 花园 个
door: 门 扇
window: 窗户 扇
letter: 信 封
dog: 狗 只
cat: 猫 只
toy: 玩具 个
cook: 厨师 位
waiter: 服务员 位
guest: 客人 位
kitchen: 厨房 间
restaurant: 餐厅 家
soup: 汤 碗
rice: 米饭 碗
bread: 面包 块
cheese: 奶酪 块
meal: 饭菜 份
cake: 蛋糕 块
knife: 刀 把
plate: 盘子 个
bottle: 瓶子 个
spoon: 勺子 把
apple_tree: 苹果=树 棵
teacher: 老师 位
pupil: 学生 个
school: 学校 所
lesson: 课 节
book: 书 本
question: 问题 个
answer: 答案 个
exam: 考试 场
classroom: 教室 间
pencil: 铅笔 支
library: 图书馆 座
word: 单词 个
farmer: 农民 个
cow: 牛 头
horse: 马 匹
chicken: 鸡 只
pig: 猪 头
field: 田 块
barn: 谷仓 座
milk: 牛奶 杯
egg: 鸡蛋 个
harvest: 收成 次
tractor: 拖拉机 台
potato: 土豆 个
fence: 篱笆 道
doctor: 医生 位
nurse: 护士 位
patient: 病人 个
hospital: 医院 家
medicine: 药 种
disease: 疾病 种
wound: 伤口 处
heart: 心脏 颗
operation: 手术 次
virus: 病毒 种
vaccine: 疫苗 种
ambulance: 救护车 辆
fisherman: 渔夫 个
captain: 船长 位
sailor: 水手 个
ship: 船 艘
boat: 帆船 条
sea: 大海 片
harbour: 港口 个
wave: 海浪 道
fish: 鱼 条
net: 渔网 张
island: 岛 座
lighthouse: 灯塔 座
whale: 鲸鱼 头
merchant: 商人 个
customer: 顾客 位
manager: 经理 位
worker: 工人 个
company: 公司 家
market: 市场 个
shop: 商店 家
price: 价格 个
money: 钱 笔
product: 产品 种
contract: 合同 份
factory: 工厂 家
bank: 银行 家
job: 工作 份
president: 总统 位
minister: 部长 位
citizen: 公民 个
voter: 选民 个
parliament: 议会 个
party: 政党 个
election: 选举 次
reform: 改革 项
speech: 演讲 次
government: 政府 个
tax: 税 种
journalist: 记者 名
newspaper: 报纸 份
soldier: 士兵 名
general: 将军 位
king: 国王 位
queen: 女王 位
enemy: 敌人 个
army: 军队 支
castle: 城堡 座
sword: 剑 把
battle: 战斗 场
bridge: 桥 座
crown: 王冠 顶
peace: 和平 段
weapon: 武器 件
singer: 歌手 位
musician: 音乐家 位
dancer: 舞者 位
painter: 画家 位
audience: 观众 群
song: 歌曲 首
violin: 小提琴 把
piano: 钢琴 架
concert: 音乐会 场
picture: 画 幅
stage: 舞台 个
theatre: 剧院 家
poem: 诗 首
player: 球员 名
coach: 教练 位
team: 球队 支
referee: 裁判 名
fan: 球迷 个
ball: 球 个
goal: 进球 个
match: 比赛 场
stadium: 体育场 座
medal: 奖牌 块
race: 赛跑 场
record: 纪录 项
judge: 法官 位
lawyer: 律师 位
thief: 小偷 个
policeman: 警察 名
witness: 证人 名
prisoner: 囚犯 名
court: 法院 个
law: 法律 条
crime: 罪行 桩
trial: 审判 场
prison: 监狱 座
proof: 证据 份
ring: 戒指 枚
scientist: 科学家 位
professor: 教授 位
engineer: 工程师 位
experiment: 实验 个
theory: 理论 个
machine: 机器 台
computer: 电脑 台
star: 星星 颗
planet: 行星 颗
telescope: 望远镜 架
laboratory: 实验室 间
result: 结果 个
robot: 机器人 个
data_base: 数据=库 个
traveller: 旅客 位
driver: 司机 位
pilot: 飞行员 名
train: 火车 列
bus: 公共汽车 辆
car: 汽车 辆
plane: 飞机 架
station: 车站 个
airport: 机场 个
street: 街道 条
ticket: 车票 张
suitcase: 行李箱 个
hotel: 酒店 家
city: 城市 座
hunter: 猎人 个
wolf: 狼 只
bear: 熊 头
bird: 鸟 只
snake: 蛇 条
forest: 森林 片
river: 河 条
mountain: 山 座
tree: 树 棵
flower: 花 朵
storm: 暴风雨 场
rain: 雨 场
stone: 石头 块
nest: 鸟窝 个
carpenter: 木匠 名
architect: 建筑师 位
neighbour: 邻居 位
wall: 墙 堵
roof: 屋顶 个
table: 桌子 张
chair: 椅子 把
hammer: 锤子 把
saw: 锯子 把
nail: 钉子 枚
wood: 木头 块
tower: 塔 座
plan: 计划 个
front_door: 前=门 扇
football_club: 足球=俱乐部 家
tax_law: 税收=法 部
fishing_boat: 打鱼=船 艘
wedding_ring: 结婚=戒指 枚
school_book: 课=本 本
animal: 动物 只
vehicle: 车辆 台
building: 建筑物 座
tool: 工具 件
instrument: 乐器 件
food: 食物 份
morning: 早上 个
evening: 晚上 个
afternoon: 下午 个
winter: 冬天 个
summer: 夏天 个
autumn: 秋天 个
"""

ADJECTIVES = """
kind: 慈祥; tired: 疲倦; young: 年轻; patient: 耐心; strict: 严厉; strong: 强壮; small: 小; happy:
快乐; curious: 好奇; hungry: 饥饿; old: 老; wise: 智慧; quiet: 安静; lazy: 懒惰; clever: 聪明;
rich: 富有; funny: 有趣; poor: 贫穷; large: 大; white: 白色; empty: 空; warm: 温暖; soft: 柔软;
wide: 宽; green: 绿色; heavy: 重; narrow: 窄; open: 敞开; broken: 破; clean: 干净; long: 长;
secret: 秘密; short: 短; loyal: 忠诚; black: 黑色; colourful: 五彩; fat: 胖; busy: 忙碌; famous:
著名; polite: 礼貌; slow: 慢; important: 重要; hot: 热; expensive: 昂贵; full: 满; salty: 咸;
thin: 稀; dry: 干燥; fresh: 新鲜; dark: 黑暗; simple: 简单; cheap: 便宜; sweet: 甜; huge: 巨大;
round: 圆; sharp: 锋利; wooden: 木制; tall: 高高; modern: 现代; boring: 无聊; difficult: 困难;
thick: 厚; interesting: 有意思; strange: 奇怪; correct: 正确; wrong: 错误; written: 书面; bright:
明亮; noisy: 吵闹; red: 红色; foreign: 外国; brown: 棕色; calm: 平静; wild: 野生; fast: 快速;
dirty: 脏; pink: 粉色; cold: 冷; late: 迟到; low: 低; careful: 仔细; friendly: 友好; sick: 生病;
weak: 虚弱; nervous: 紧张; bitter: 苦; dangerous: 危险; rare: 稀有; serious: 严重; deep: 深;
healthy: 健康; urgent: 紧急; new: 新; safe: 安全; brave: 勇敢; experienced: 有经验; drunk: 喝醉;
blue: 蓝色; high: 高; silver: 银色; wet: 潮湿; torn: 撕破; lonely: 孤独; grey: 灰色; honest: 诚实;
impatient: 急躁; ambitious: 雄心勃勃; free: 自由; fair: 公平; useful: 有用; hard: 艰苦; powerful:
强大; popular: 受欢迎; angry: 愤怒; undecided: 犹豫; divided: 分裂; liberal: 开明; early: 早;
radical: 激进; necessary: 必要; unfair: 不公; critical: 批评性; daily: 每日; wounded: 负伤; cruel:
残忍; proud: 骄傲; beautiful: 美丽; defeated: 战败; golden: 金色; bloody: 血腥; decisive: 决定性;
uncertain: 不确定; gifted: 有才华; slim: 苗条; enthusiastic: 热情; sad: 悲伤; fine: 精美;
successful: 成功; loud: 响亮; injured: 受伤; exciting: 激动人心; incredible: 难以置信; innocent:
无辜; independent: 独立; complicated: 复杂; public: 公开; terrible: 可怕; missing: 缺失; clear:
清楚; stolen: 被盗; brilliant: 杰出; absent-minded: 心不在焉; distant: 遥远; unknown: 未知;
surprising: 惊人; crowded: 拥挤; yellow: 黄色; central: 中央; expired: 过期; lost: 丢失;
comfortable: 舒适; silent: 沉默; poisonous: 有毒; sudden: 突然; flat: 平坦; rusty: 生锈
"""

VERBS = """
love: 爱; hate: 讨厌; sleep: 睡觉; play: 玩; visit: 拜访; wash: 洗; open: 打开; close: 关上;
write: 写; laugh: 笑; cry: 哭; cook: 煮; eat: 吃; drink: 喝; cut: 切; order: 点; bring: 送来;
taste: 品尝; bake: 烤; serve: 端上; teach: 教; read: 读; learn: 学习; ask: 提出; explain: 解释;
understand: 理解; forget: 忘记; repeat: 重复; feed: 喂养; milk: 挤奶; sell: 卖; plant: 种植;
plough: 耕种; ride: 骑; collect: 收集; treat: 治疗; examine: 检查; heal: 治愈; prescribe: 开出;
save: 救; die: 死去; suffer: 受苦; recover: 康复; catch: 抓; sail: 航行; sink: 沉没; steer: 驾驶;
repair: 修理; swim: 游泳; load: 装载; leave: 离开; buy: 买; sign: 签署; pay: 支付; produce: 生产;
offer: 提供; found: 创立; grow: 增长; work: 工作; hire: 雇用; choose: 选择; criticise: 批评;
support: 支持; promise: 承诺; deliver: 发表; reject: 拒绝; publish: 出版; resign: 辞职; attack:
攻击; defend: 保卫; fight: 作战; conquer: 征服; destroy: 摧毁; carry: 携带; fear: 害怕; rule:
统治; sing: 唱; dance: 跳舞; paint: 画; practise: 练习; compose: 创作; admire: 欣赏; applaud:
鼓掌; hear: 听; win: 赢得; lose: 输掉; train: 训练; run: 跑步; score: 打进; kick: 踢; break: 打破;
watch: 观看; steal: 偷; arrest: 逮捕; accuse: 控告; question: 审问; find: 找到; escape: 逃跑; lie:
撒谎; confess: 承认; discover: 发现; develop: 开发; observe: 观察; measure: 测量; test: 测试;
prove: 证明; fail: 失败; calculate: 计算; travel: 旅行; drive: 开车; arrive: 到达; wait: 等待;
miss: 错过; reach: 抵达; pack: 收拾; stop: 停下; hunt: 猎捕; fly: 飞; climb: 攀登; bite: 咬; hide:
藏; fall: 落下; follow: 跟踪; see: 看见; build: 建造; draw: 绘制; saw: 锯; help: 帮助; need: 需要;
lift: 举起; show: 展示; say: 说; believe: 相信; know: 知道; hope: 希望; think: 认为; report: 报道
"""

ADVERBS = """
always: 总是; often: 经常; rarely: 很少; already: 已经; still: 仍然; soon: 很快; slowly: 慢慢地;
quickly: 迅速地; carefully: 小心地; quietly: 静静地; together: 一起; secretly: 偷偷地; alone:
独自; again: 再次; suddenly: 忽然; easily: 轻松地; yesterday: 昨天; today: 今天; now: 现在;
tomorrow: 明天
"""

# The word before the noun and, after `~`, the word behind it.
PREPOSITIONS = """
in: 在 ~ 里; on: 在 ~ 上; under: 在 ~ 下; near: 在 ~ 附近; behind: 在 ~ 后面; at: 在; with: 用;
withp: 和; for: 为; from: 从; to: 到; through: 穿过; about: 关于; against: 对; after: 在 ~ 之后;
tor: 给
"""

# The word that opens the clause and, after `~`, the word that ends it.
CONJUNCTIONS = """
because: 因为; when: 当 ~ 时; although: 虽然; if: 如果; before: ~ 之前; while: 在 ~ 的时候; and:
并且; but: 但是
"""

FUNCTION_WORDS = """
very: 非常; too: 太; will: 会; can: 能; must: 必须; this: 这; these: 这些; my: 我; our: 我们;
many: 许多; he: 他; she: 她; it: 它; they: 他们; two: 两; three: 三; four: 四; five: 五; six: 六;
seven: 七; eight: 八; nine: 九; ten: 十
"""

PEOPLE = """
Anna: 安娜; Peter: 彼得; Maria: 玛丽亚; Jakob: 雅各布; Laura: 劳拉; David: 大卫; Eva: 伊娃;
Martin: 马丁; Lena: 莱娜; Paul: 保罗; Nina: 尼娜; Robert: 罗伯特; Sara: 萨拉; Daniel: 丹尼尔;
Sofia: 索菲亚; Victor: 维克多; Clara: 克拉拉; Simon: 西蒙; Julia: 朱莉娅; Oscar: 奥斯卡; Dewi:
德维; Budi: 布迪; Mei: 梅; Wei: 伟; Keller: 凯勒; Brandt: 勃兰特; Santoso: 桑托索; Wang: 王;
Miller: 米勒; Novak: 诺瓦克; Rossi: 罗西; Hartono: 哈托诺; Lindner: 林德纳; Baker: 贝克; Chen: 陈;
Silva: 席尔瓦
"""

PLACES = """
London: 伦敦; Berlin: 柏林; Paris: 巴黎; Vienna: 维也纳; Jakarta: 雅加达; Beijing: 北京; Rome:
罗马; Munich: 慕尼黑; Tokyo: 东京; Moscow: 莫斯科; Madrid: 马德里; Cairo: 开罗; Lisbon: 里斯本;
Bandung: 万隆; Hamburg: 汉堡; Shanghai: 上海; Prague: 布拉格; Oslo: 奥斯陆; Geneva: 日内瓦;
Germany: 德国; China: 中国; Indonesia: 印度尼西亚; Norway: 挪威; Italy: 意大利
"""

ORGANISATIONS = """
Helios_Hospital: 赫利俄斯=医院; Delta_Bank: 三角洲=银行; Orion_Institute: 猎户=研究所;
Nova_University: 新星=大学; Atlas_Club: 阿特拉斯=俱乐部; Triton_Shipyard: 海神=造船厂; Medivax:
美迪瓦; Globex: 格洛贝; Solarion: 索拉里; Zenit: 泽尼特; Interfarm: 英特农; Metrobus: 梅特罗;
Luxotel: 卢克泰; Panradio: 泛播台
"""
